# SPDX-License-Identifier: Apache-2.0
"""What Picket talks to, inside the booted machine: a TLS registry with a password, a broker."""

import os
import subprocess
import sys

import machine
from machine import check, sh, wait

USER, PASSWORD = "node", "a password of the story"
REGISTRY = "localhost:5443"
FOLDER = "/srv/peers"
CA = "/etc/picket/keys/registry-ca.pem"
SECRET = "/etc/picket/registry-password"
SIGNING_KEY = f"{FOLDER}/signing.pem"
PUBLIC_KEY = "/etc/picket/keys/release.pem"
CREDENTIALS = "/usr/share/picket/drop-ins/credentials.conf"

REGISTRY_CONFIG = f"""version: 0.1
storage: {{filesystem: {{rootdirectory: {FOLDER}/registry}}}}
http:
  addr: 127.0.0.1:5443
  tls: {{certificate: {FOLDER}/tls.pem, key: {FOLDER}/tls.key}}
auth:
  htpasswd: {{realm: story, path: {FOLDER}/htpasswd}}
"""


def bcrypt(password):
    """The only form of password that the registry takes."""
    program = "import crypt,sys;print(crypt.crypt(sys.argv[1],crypt.mksalt(crypt.METHOD_BLOWFISH)))"
    command = [sys.executable, "-W", "ignore", "-c", program, password]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def make_registry():
    """Certificates, users; the registry runs afterwards, and picketd may know its password."""
    os.makedirs(FOLDER, exist_ok=True)
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
    files = ["-keyout", f"{FOLDER}/tls.key", "-out", f"{FOLDER}/tls.pem"]
    sh("openssl", "req", "-x509", *curve, *files, *subject)
    sh("openssl", "genpkey", "-algorithm", "ed25519", "-out", SIGNING_KEY)
    sh("openssl", "pkey", "-in", SIGNING_KEY, "-pubout", "-out", PUBLIC_KEY)
    machine.write(f"{FOLDER}/htpasswd", f"{USER}:{bcrypt(PASSWORD)}\n")
    machine.write(f"{FOLDER}/config.yml", REGISTRY_CONFIG)
    with open(f"{FOLDER}/tls.pem", encoding="ascii") as f:
        machine.write(CA, f.read())
    machine.write(SECRET, PASSWORD + "\n", 0o600)
    folder = "/etc/systemd/system/picketd.service.d"
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(f"{folder}/credentials.conf"):
        os.symlink(CREDENTIALS, f"{folder}/credentials.conf")
    sh("systemctl", "daemon-reload")
    start_registry()


def start_registry():
    sh("systemctl", "reset-failed", "registry.service", ok=False)
    command = ["/usr/bin/docker-registry", "serve", f"{FOLDER}/config.yml"]
    sh("systemd-run", "--unit=registry", "--service-type=exec", *command)
    call = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", CA]
    wait(lambda: sh(*call, f"https://{REGISTRY}/v2/", ok=False) == "401", 20, "the registry")


def stop_registry():
    sh("systemctl", "stop", "registry.service")


def push(artifact, name):
    """Copies an artifact of a layout, with its signatures, into the registry."""
    command = ["picketctl", "push", artifact, f"{REGISTRY}/{name}", "--ca", CA, "--user", USER]
    sh(*command, "--password-file", SECRET)


def mqtt_messages(n, topic="picket/#", timeout=30):
    """n messages of the broker as (topic, text)."""
    command = ["mosquitto_sub", "-h", "127.0.0.1", "-t", topic, "-v", "-C", str(n)]
    text = sh(*command, "-W", str(timeout), timeout=timeout + 10)
    found = [tuple(line.split(" ", 1)) for line in text.splitlines() if " " in line]
    check(len(found) == n, f"{len(found)} messages of {n}: {text[:300]}")
    return found
