#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's docker-registry over TLS, with a password and with tokens: push, pull, resume, pins."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import servers
import story
from servers import PICKETCTL, Authority, DockerRegistry, TokenServer, picketctl, pull, run
from story import check

SIZE = 24_000_000  # more than one chunk of a push


class World:
    """A folder with an authority, a password, a layout with one artifact."""

    def __init__(self, folder: str):
        self.folder = folder
        self.ca = Authority(folder)
        self.password = os.path.join(folder, "password")
        with open(self.password, "w", encoding="utf-8") as f:
            f.write("pass:word\n")
        self.layout = os.path.join(folder, "layout")
        self.digest = servers.make_layout(self.layout, SIZE)
        self.options = ["--ca", self.ca.cert, "--user", "node", "--password-file", self.password]

    def root(self) -> str:
        return tempfile.mkdtemp(dir=self.folder)

    def push(self, host: str, tag: str = "v1", source: str = "v1") -> dict:
        target = f"{host}/models/yolo:{tag}"
        done = picketctl(
            *["push", f"oci:{self.layout}:{source}", target, "--json"],
            *self.options,
            root=self.folder,
        )
        check(done.returncode == 0, done.stderr)
        return json.loads(done.stdout)

    def pull(self, ref: str, root: str | None = None, *args) -> dict:
        code, out, err = pull(ref, root or self.root(), *self.options, *args)
        check(code == 0, f"{code}: {err}")
        return out

    def skopeo(self, *args) -> str:
        env = {**os.environ, "SSL_CERT_FILE": self.ca.cert}
        return servers.run_ok("skopeo", "--insecure-policy", *args, env=env)

    def seen_by_skopeo(self, ref: str) -> str:
        """The digest of what skopeo gets there."""
        raw = self.skopeo("inspect", "--creds", "node:pass:word", "--raw", f"docker://{ref}")
        return "sha256:" + hashlib.sha256(raw.encode()).hexdigest()


W: World = None  # made by main


def blobs_of(root: str) -> dict:
    folder = os.path.join(root, "var/lib/picket/blobs/sha256")
    return {name: os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)}


def kill_in_the_middle(ref: str, root: str) -> int:
    """Ends a pull with SIGKILL when some of the model is there; the bytes that lie in tmp."""
    child = subprocess.Popen(
        [PICKETCTL, "--root", root, "pull", ref, *W.options, "--rate", "4MiB"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    tmp = os.path.join(root, "var/lib/picket/tmp")
    end = time.monotonic() + 20
    have = 0
    while have < 2_000_000 and time.monotonic() < end:
        time.sleep(0.02)
        files = os.listdir(tmp) if os.path.isdir(tmp) else []
        have = max([os.path.getsize(os.path.join(tmp, f)) for f in files if f] or [0])
    child.send_signal(signal.SIGKILL)
    child.wait()
    files = [f for f in os.listdir(tmp)]
    check(len(files) == 1, f"{files} in tmp")
    return os.path.getsize(os.path.join(tmp, files[0]))


def exercise(registry: DockerRegistry):
    """All that a node does with a registry, whatever its authentication."""
    ref = f"{registry.host}/models/yolo"
    pushed = W.push(registry.host)
    check(pushed["digest"] == W.digest and pushed["sent_blobs"] == 3, f"{pushed}")
    check(W.push(registry.host, "v1")["sent_blobs"] == 0, "sent again")

    check(W.seen_by_skopeo(f"{ref}:v1") == W.digest, "skopeo sees another digest")
    out = W.pull(f"{ref}:v1")
    check(out["digest"] == W.digest and out["fetched_blobs"] == 4, f"{out}")
    check(W.pull(f"{ref}@{W.digest}")["digest"] == W.digest, "pinned")

    root = W.root()
    have = kill_in_the_middle(f"{ref}:v1", root)
    out = W.pull(f"{ref}:v1", root)
    check(out["resumed_bytes"] >= have > 0, f"{have} bytes were there: {out}")
    check(out["received_bytes"] < SIZE - have + 100_000, "all of it was fetched again")
    story.keep_figures(pull_resumed_part=round(have / SIZE, 3))

    other = servers.make_layout(W.layout, 100_000, "v2", seed=2)
    W.push(registry.host, "v1", "v2")  # the tag moves
    out = W.pull(f"{ref}:v1", root)
    check(out["digest"] == other, "the old tag")
    check(W.pull(f"{ref}:v1@{W.digest}", root)["digest"] == W.digest, "a pin does not move")
    check(W.seen_by_skopeo(f"{ref}:v1") == other, "skopeo sees another digest")


def refuses(registry: DockerRegistry):
    code, out, _ = pull(f"{registry.host}/models/yolo:v1", W.root(), "--ca", W.ca.cert)
    check(code == 1 and out["code"] == "EACCES", f"anonymous: {code} {out}")
    code, out, _ = pull(f"{registry.host}/models/none:v1", W.root(), *W.options)
    check(code == 1 and out["code"] == "ENOENT", f"unknown name: {code} {out}")


def test_password():
    auth = servers.htpasswd(W.folder, "node", "pass:word")
    with DockerRegistry(W.folder, W.ca, auth) as registry:
        exercise(registry)
        refuses(registry)


def test_tokens():
    with TokenServer(W.folder, W.ca, "node", "pass:word") as tokens:
        with DockerRegistry(W.folder, W.ca, tokens.auth()) as registry:
            exercise(registry)
            scopes = [query["scope"] for query, _ in tokens.seen]
            check(["repository:models/yolo:pull"] in scopes, f"{scopes}")
            check(all(ok for _, ok in tokens.seen), "a token without a password")
            code, out, _ = pull(f"{registry.host}/models/yolo:v1", W.root(), "--ca", W.ca.cert)
            check(code == 1 and out["code"] == "EACCES", f"anonymous: {code} {out}")


def test_pushed_by_skopeo():
    """A layout copied by skopeo gives the same digests as one pushed by picketctl."""
    auth = servers.htpasswd(W.folder, "node", "pass:word")
    with DockerRegistry(W.folder, W.ca, auth) as registry:
        ref = f"{registry.host}/by/skopeo"
        creds = ["--dest-creds", "node:pass:word"]
        W.skopeo("copy", *creds, f"oci:{W.layout}:v1", f"docker://{ref}:v1")
        root = W.root()
        check(W.pull(f"{ref}:v1", root)["digest"] == W.digest, "another digest")
        by_skopeo = os.path.join(W.folder, "from-skopeo")
        source = ["--src-creds", "node:pass:word", f"docker://{ref}:v1"]
        W.skopeo("copy", *source, f"oci:{by_skopeo}:v1")
        folder = os.path.join(by_skopeo, "blobs/sha256")
        theirs = {n: os.path.getsize(os.path.join(folder, n)) for n in os.listdir(folder)}
        check(blobs_of(root) == theirs, f"ours {blobs_of(root)}, skopeo's {theirs}")


def test_blob_damaged_at_the_registry():
    """2.8 serves damaged bytes with 200 and the old digest in its headers."""
    with DockerRegistry(W.folder, W.ca) as registry:
        W.push(registry.host, "v1", "v1")
        out = W.pull(f"{registry.host}/models/yolo:v1")
        hex_ = out["onnx_digest"][7:]
        root = registry.config["storage"]["filesystem"]["rootdirectory"]
        path = f"{root}/docker/registry/v2/blobs/sha256/{hex_[:2]}/{hex_}/data"
        with open(path, "r+b") as f:
            f.seek(1000)
            byte = f.read(1)
            f.seek(1000)
            f.write(bytes([byte[0] ^ 1]))
        code, out, _ = pull(f"{registry.host}/models/yolo:v1", W.root(), *W.options)
        check(code == 4 and out["code"] == "EBADMSG", f"{code} {out}")


def test_signature_artifacts_travel():
    """What lies in the layout under the tags of the manifest's signature goes along."""
    subject = W.digest[7:]
    layout = W.layout

    def put(data: bytes) -> dict:
        digest = hashlib.sha256(data).hexdigest()
        with open(f"{layout}/blobs/sha256/{digest}", "wb") as f:
            f.write(data)
        return {"digest": "sha256:" + digest, "size": len(data)}

    kind = "application/vnd.oci.image.manifest.v1+json"
    empty = {**put(b"{}"), "mediaType": "application/vnd.oci.empty.v1+json"}
    layer = {**put(b"signed, somebody"), "mediaType": "text/plain"}
    manifest = {"schemaVersion": 2, "mediaType": kind, "config": empty, "layers": [layer]}
    manifest["artifactType"] = "application/x.test"
    signature = {**put(json.dumps(manifest).encode()), "mediaType": kind}
    list_kind = "application/vnd.oci.image.index.v1+json"
    listing = {"schemaVersion": 2, "mediaType": list_kind, "manifests": [signature]}
    referrers = {**put(json.dumps(listing).encode()), "mediaType": list_kind}
    with open(f"{layout}/index.json", encoding="utf-8") as f:
        index = json.load(f)
    name = "org.opencontainers.image.ref.name"
    for tag, what in ((f"sha256-{subject}.sig", signature), (f"sha256-{subject}", referrers)):
        index["manifests"].append({**what, "annotations": {name: tag}})
    with open(f"{layout}/index.json", "w", encoding="utf-8") as f:
        json.dump(index, f)
    with DockerRegistry(W.folder, W.ca) as registry:
        W.push(registry.host, "v1", "v1")
        probe = os.path.join(story.BUILD, "tests/lib/registry_probe")
        done = run(
            *[probe, "referrers", f"{registry.host}/models/yolo:v1", W.digest],
            env={**os.environ, "CA": W.ca.cert},
        )
        found = json.loads(done.stdout)["manifests"]
        check([e["digest"] for e in found] == [signature["digest"]], f"{found}")


def main() -> int:
    global W
    tests = [f for name, f in globals().items() if name.startswith("test_")]
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="picket-registry-", dir=memory) as folder:
        try:
            servers.need("docker-registry", "skopeo", "htpasswd", "openssl")
        except story.Skip as why:
            print(f"skip - docker-registry: {why}")
            return 77
        W = World(folder)
        return story.run(*tests)


sys.exit(main())
