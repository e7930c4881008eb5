// SPDX-License-Identifier: Apache-2.0
// The verbs of picketctl. Each gets argv with argv[0] = the verb and returns the exit code.
#pragma once

#define PK_EXIT_OK          0
#define PK_EXIT_FAIL        1 // it was tried and did not work
#define PK_EXIT_USAGE       2 // bad command line, or a config with mistakes
#define PK_EXIT_UNREACHABLE 3 // the network, or a server that says "later": try again
#define PK_EXIT_UNVERIFIED  4 // what came is not what it should be, or nobody vouches for it

// The root that --root or PICKET_ROOT moved everything to; "" means "/".
const char *pk_cli_root(void);

int pk_cmd_engine(int argc, char **argv);
int pk_cmd_config(int argc, char **argv);
int pk_cmd_card(int argc, char **argv);
int pk_cmd_pull(int argc, char **argv);
int pk_cmd_store(int argc, char **argv);
int pk_cmd_push(int argc, char **argv);
int pk_cmd_bundle(int argc, char **argv);
int pk_cmd_key(int argc, char **argv);
int pk_cmd_status(int argc, char **argv);
int pk_cmd_camera(int argc, char **argv);
int pk_cmd_cameras(int argc, char **argv);
int pk_cmd_model(int argc, char **argv);
int pk_cmd_models(int argc, char **argv);
int pk_cmd_events(int argc, char **argv);
int pk_cmd_doctor(int argc, char **argv);
int pk_cmd_support(int argc, char **argv);
int pk_cmd_logs(int argc, char **argv);
int pk_cmd_top(int argc, char **argv);
int pk_cmd_reload(int argc, char **argv);
