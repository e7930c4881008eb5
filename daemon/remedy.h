// SPDX-License-Identifier: Apache-2.0
// What a person does about an event: for the journal's catalog and docs/OPERATIONS.md.
#pragma once

#include "daemon/events.h"

const char *pk_event_remedy(enum pk_event_type type); // sentences; "": nothing is to be done
