#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The real oras, cosign and skopeo, and registries with and without the referrers API, against
picketctl: what one writes the other reads, what was tampered with nobody takes."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/registry"))
sys.path.insert(0, os.path.join(TOP, "scripts/lib"))
import gotools  # noqa: E402
import servers  # noqa: E402
import signing  # noqa: E402
from servers import run, run_ok  # noqa: E402

story = servers.story
check = story.check

FOLDER = tempfile.TemporaryDirectory(prefix="picket-interop-")
LONG = bool(os.environ.get("PICKET_LONG"))
PASSWORD = "for tests only"
COSIGN_ENV = {**os.environ, "COSIGN_PASSWORD": PASSWORD, "HOME": FOLDER.name}
OFFLINE = ("--tlog-upload=false", "--use-signing-config=false", "-y")
MODELPACK = "application/vnd.cncf.model"


def tool(name: str) -> str:
    try:
        return gotools.program(name, LONG)
    except gotools.Missing as why:
        raise story.Skip(str(why)) from None


def sha256_of(path: str) -> str:
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class Referrers:
    """A registry in memory with the referrers API, plain http; a context."""

    args = ("--insecure",)
    cosign_args = ("--allow-http-registry",)
    oras_args = ("--plain-http",)

    def __enter__(self):
        self.child = subprocess.Popen(
            [tool("referrers")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.host = f"127.0.0.1:{self.child.stdout.readline().strip()}"
        return self

    def __exit__(self, *_error):
        self.child.stdin.close()
        self.child.wait(10)
        self.child.stdout.close()


class Zot(Referrers):
    """zot, when the machine has it."""

    def __enter__(self):
        if not shutil.which("zot"):
            raise story.Skip(
                "zot is not installed, and its module zotregistry.dev/zot cannot be had from the "
                "Go module proxy here; go-containerregistry's registry stands in"
            )
        port = servers.free_port()
        self.host = f"127.0.0.1:{port}"
        config = os.path.join(FOLDER.name, "zot.json")
        settings = {
            "distSpecVersion": "1.1.0",
            "storage": {"rootDirectory": os.path.join(FOLDER.name, "zot")},
            "http": {"address": "127.0.0.1", "port": str(port)},
            "log": {"level": "error"},
        }
        with open(config, "w", encoding="utf-8") as f:
            json.dump(settings, f)
        self.child = subprocess.Popen(["zot", "serve", config], stdin=subprocess.DEVNULL)
        end = time.monotonic() + 15
        while time.monotonic() < end:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    return self
            time.sleep(0.05)
        self.__exit__()
        raise AssertionError("zot does not start")

    def __exit__(self, *_error):
        self.child.terminate()
        self.child.wait(10)


class Docker(servers.DockerRegistry):
    """Debian's docker-registry over TLS, without the referrers API."""

    def __init__(self):
        servers.need("docker-registry", "openssl")
        folder = tempfile.mkdtemp(dir=FOLDER.name)
        authority = servers.Authority(folder)
        super().__init__(folder, authority)
        self.args = ("--ca", authority.cert)
        self.cosign_args = ("--registry-cacert", authority.cert)
        self.oras_args = ("--ca-file", authority.cert)


class Artifact:
    """An artifact in a layout of its own, pushed by picketctl to NAME:v1."""

    def __init__(self, registry, name: str, seed: int = 1):
        self.folder = tempfile.mkdtemp(dir=FOLDER.name)
        self.layout = os.path.join(self.folder, "layout")
        self.digest = servers.make_layout(self.layout, 200_000, seed=seed)
        self.registry = registry
        self.ref = f"{registry.host}/{name}:v1"
        self.by_digest = f"{registry.host}/{name}@{self.digest}"
        self.repository = f"{registry.host}/{name}"
        self.push()

    def push(self):
        done = servers.picketctl(
            "push", f"oci:{self.layout}:v1", self.ref, *self.registry.args, root=self.folder
        )
        check(done.returncode == 0, f"push: {done.stderr}")

    def sign(self, key: signing.Key, form: str):
        command = ("bundle", "sign", f"oci:{self.layout}:v1", "--key", key.private)
        done = servers.picketctl(*command, "--format", form, root=self.folder)
        check(done.returncode == 0, f"sign: {done.stderr}")

    def verify(self, key: str, *args: str) -> dict:
        command = ("bundle", "verify", self.ref, "--key", key, "--json", *self.registry.args)
        done = servers.picketctl(*command, *args, root=self.folder)
        said = json.loads(done.stdout or "{}")
        check((done.returncode == 0) == bool(said.get("verified")), f"{done.returncode} {said}")
        return said

    def expect(self, reason: str, key: str, *args: str):
        said = self.verify(key, *args)
        check(said.get("reason") == reason, f"{args}: {said}, expected {reason}")


class CosignKey:
    """One key in both worlds: PKCS #8 for us, imported into cosign's own form for it."""

    def __init__(self, name: str, kind: str = "p256"):
        self.plain = signing.Key(FOLDER.name, name, kind)
        prefix = os.path.join(FOLDER.name, f"cosign-{name}")
        run_ok(
            *[tool("cosign"), "import-key-pair", "--key", self.plain.private],
            *["--output-key-prefix", prefix],
            env=COSIGN_ENV,
        )
        self.key, self.public = f"{prefix}.key", f"{prefix}.pub"


def cosign_sign(registry, reference: str, key: CosignKey, form: str):
    old = ("--new-bundle-format=false",) if form == "cosign" else ()
    done = run(
        *[tool("cosign"), "sign", "--key", key.key, *OFFLINE, *old, *registry.cosign_args],
        reference,
        env=COSIGN_ENV,
    )
    check(done.returncode == 0, f"cosign sign: {done.stderr[-800:]}")


def cosign_verify(registry, reference: str, key: CosignKey, form: str) -> bool:
    old = ("--new-bundle-format=false",) if form == "cosign" else ()
    done = run(
        *[tool("cosign"), "verify", "--key", key.public, "--insecure-ignore-tlog=true", *old],
        *registry.cosign_args,
        reference,
        env=COSIGN_ENV,
    )
    return done.returncode == 0


def test_oras_push():
    """The naive push of one file, and a ModelPack as its users write it."""
    oras = tool("oras")
    with Docker() as registry:
        folder = tempfile.mkdtemp(dir=FOLDER.name)
        model = os.path.join(folder, "model.onnx")
        shutil.copy(os.path.join(TOP, "demo/parts.onnx"), model)
        shutil.copy(os.path.join(TOP, "demo/card.yaml"), os.path.join(folder, "card.yaml"))
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
            f.write('{"descriptor":{},"config":{"format":"onnx"},"modelfs":{}}')
        naive = ["model.onnx"]
        full = [
            "--artifact-type",
            f"{MODELPACK}.manifest.v1+json",
            "--config",
            f"config.json:{MODELPACK}.config.v1+json",
            "--annotation",
            "dev.picket.model.seq=3",
            f"model.onnx:{MODELPACK}.weight.v1.raw",
            f"card.yaml:{MODELPACK}.weight.config.v1.raw",
        ]
        for name, what in (("naive", naive), ("full", full)):
            ref = f"{registry.host}/{name}:v1"
            run_ok(oras, "push", *registry.oras_args, ref, *what, cwd=folder)
            digest = run_ok(oras, "resolve", *registry.oras_args, ref).strip()
            code, said, errors = servers.pull(ref, os.path.join(folder, name), *registry.args)
            check(code == 0, f"{name}: {errors}")
            check(said["digest"] == digest, f"{name}: {said['digest']} is not oras's {digest}")
            check(said["onnx_digest"] == "sha256:" + sha256_of(model), f"{name}: {said}")


def test_oras_pulls_what_picketctl_pushed():
    oras = tool("oras")
    with Docker() as registry:
        artifact = Artifact(registry, "models/parts")
        out = os.path.join(artifact.folder, "out")
        run_ok(oras, "pull", *registry.oras_args, artifact.ref, "-o", out)
        check(sorted(os.listdir(out)) == ["card.yaml", "model.onnx"], f"{os.listdir(out)}")
        ours = sha256_of(os.path.join(artifact.folder, "model-1.onnx"))
        check(sha256_of(os.path.join(out, "model.onnx")) == ours, "another model.onnx")


def cosign_both_ways(registry, name: str):
    """Signed by the real cosign in both forms, and what it says of ours."""
    key, other = CosignKey(f"{name}-a"), CosignKey(f"{name}-b")
    for form in ("cosign", "bundle"):
        theirs = Artifact(registry, f"{name}/{form}-theirs")
        theirs.expect("none-found", key.public)
        cosign_sign(registry, theirs.by_digest, key, form)
        theirs.expect("verified", key.public)
        theirs.expect("verified", key.public, "--format", form, "--name", "parts")
        theirs.expect("wrong-name", key.public, "--name", "other")
        check(theirs.verify(other.public)["reason"] in ("bad-signature", "unknown-key"), form)
        cosign_sign(registry, theirs.by_digest, other, form)  # a second key beside the first
        theirs.expect("verified", other.public, "--key", key.public, "--threshold", "2")

        ours = Artifact(registry, f"{name}/{form}-ours")
        check(not cosign_verify(registry, ours.by_digest, key, form), "cosign takes no signature")
        ours.sign(key.plain, form)
        ours.push()
        check(cosign_verify(registry, ours.by_digest, key, form), f"cosign refuses our {form}")
        check(not cosign_verify(registry, ours.by_digest, other, form), "cosign takes another key")


def test_cosign_both_ways_by_tag():
    tool("cosign")
    with Docker() as registry:
        cosign_both_ways(registry, "tags")


def referrers_of(artifact: Artifact) -> list:
    """What the API says, asked without picketctl."""
    repository = artifact.repository.split("/", 1)[1]
    url = f"http://{artifact.registry.host}/v2/{repository}/referrers/{artifact.digest}"
    return json.loads(run_ok("curl", "-sSf", url))["manifests"]


def has_tag(artifact: Artifact) -> bool:
    repository = artifact.repository.split("/", 1)[1]
    tag = artifact.digest.replace(":", "-")
    url = f"http://{artifact.registry.host}/v2/{repository}/manifests/{tag}"
    accept = "Accept: application/vnd.oci.image.index.v1+json"
    return run("curl", "-sSf", "-o", "/dev/null", "-H", accept, url).returncode == 0


def referrers_api(kind):
    """A registry with the API: push, pull, and signatures that are found by it alone."""
    servers.need("curl")
    with kind() as registry:
        artifact = Artifact(registry, "api/parts")
        code, said, errors = servers.pull(
            artifact.ref, os.path.join(artifact.folder, "node"), *registry.args
        )
        check(code == 0 and said["digest"] == artifact.digest, f"pull: {code} {said} {errors}")
        key = signing.Key(FOLDER.name, f"api-{kind.__name__}")
        artifact.expect("none-found", key.public)
        artifact.sign(key, "bundle")
        artifact.push()
        check(len(referrers_of(artifact)) == 1, f"referrers: {referrers_of(artifact)}")
        artifact.expect("verified", key.public)


def test_referrers_api():
    referrers_api(Referrers)


def test_zot():
    referrers_api(Zot)


def test_cosign_both_ways_by_api():
    tool("cosign")
    servers.need("curl")
    with Referrers() as registry:
        cosign_both_ways(registry, "api")
        artifact, key = Artifact(registry, "api/only"), CosignKey("api-only")
        cosign_sign(registry, artifact.by_digest, key, "bundle")
        check(len(referrers_of(artifact)) == 1, "cosign's bundle is no referrer")
        check(not has_tag(artifact), "there is a tag too: the API alone is not tested")
        artifact.expect("verified", key.public)


def test_cosign_attestation_is_no_signature():
    with Docker() as registry:
        key, artifact = CosignKey("attest"), Artifact(registry, "attest/parts")
        predicate = os.path.join(artifact.folder, "predicate.json")
        with open(predicate, "w", encoding="utf-8") as f:
            f.write('{"scanner":"x","found":[]}')
        attest = [tool("cosign"), "attest", "--key", key.key, "--predicate", predicate]
        done = run(
            *[*attest, "--type", "custom", *OFFLINE, *registry.cosign_args, artifact.by_digest],
            env=COSIGN_ENV,
        )
        check(done.returncode == 0, f"cosign attest: {done.stderr[-500:]}")
        artifact.expect("not-a-signature", key.public)
        cosign_sign(registry, artifact.by_digest, key, "bundle")
        artifact.expect("verified", key.public)


def tag_text(oras: str, registry, ref: str) -> dict:
    return json.loads(run_ok(oras, "manifest", "fetch", *registry.oras_args, ref))


def push_text(oras: str, registry, ref: str, media_type: str, document: dict):
    path = os.path.join(FOLDER.name, "manifest.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(document, f)
    run_ok(oras, "manifest", "push", *registry.oras_args, "--media-type", media_type, ref, path)


def push_blob(oras: str, registry, repository: str, content: bytes, media_type: str) -> dict:
    """The descriptor of content, uploaded."""
    path = os.path.join(FOLDER.name, "blob")
    with open(path, "wb") as f:
        f.write(content)
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    run_ok(oras, "blob", "push", *registry.oras_args, f"{repository}@{digest}", path)
    return {"mediaType": media_type, "digest": digest, "size": len(content)}


def fetch_blob(oras: str, registry, repository: str, digest: str) -> bytes:
    ref = f"{repository}@{digest}"
    return run_ok(oras, "blob", "fetch", *registry.oras_args, "--output", "-", ref).encode()


def test_tampered_cosign_signature():
    """A real one moved to another artifact, with other bytes, with another signature."""
    oras = tool("oras")
    tool("cosign")
    with Docker() as registry:
        key = CosignKey("tamper")
        good, bad = Artifact(registry, "t/good", 1), Artifact(registry, "t/bad", 2)
        cosign_sign(registry, good.by_digest, key, "cosign")
        tag = good.digest.replace(":", "-") + ".sig"
        signed = tag_text(oras, registry, f"{good.repository}:{tag}")
        layer = signed["layers"][0]
        payload = fetch_blob(oras, registry, good.repository, layer["digest"])
        bad_tag = f"{bad.repository}:{bad.digest.replace(':', '-')}.sig"

        def put(content: bytes, signature: str):
            new = push_blob(oras, registry, bad.repository, content, layer["mediaType"])
            new["annotations"] = {"dev.cosignproject.cosign/signature": signature}
            config = push_blob(oras, registry, bad.repository, b"{}", signed["config"]["mediaType"])
            document = {**signed, "config": config, "layers": [new]}
            push_text(oras, registry, bad_tag, signing.MANIFEST, document)

        signature = layer["annotations"]["dev.cosignproject.cosign/signature"]
        put(payload, signature)
        bad.expect("wrong-digest", key.public)
        put(payload.replace(good.digest.encode(), bad.digest.encode()), signature)
        bad.expect("bad-signature", key.public)
        put(payload, signature[:10] + ("A" if signature[10] != "A" else "B") + signature[11:])
        check(bad.verify(key.public)["reason"] in ("bad-signature", "malformed"), "changed")
        good.expect("verified", key.public)


def test_tampered_cosign_bundle():
    oras = tool("oras")
    tool("cosign")
    with Docker() as registry:
        key = CosignKey("tamper-bundle")
        good, bad = Artifact(registry, "b/good", 1), Artifact(registry, "b/bad", 2)
        cosign_sign(registry, good.by_digest, key, "bundle")
        index = tag_text(oras, registry, f"{good.repository}:{good.digest.replace(':', '-')}")
        entry = index["manifests"][0]
        manifest = tag_text(oras, registry, f"{good.repository}@{entry['digest']}")
        bundle = fetch_blob(oras, registry, good.repository, manifest["layers"][0]["digest"])
        subject = tag_text(oras, registry, bad.ref)
        subject = {
            **manifest["subject"],
            "digest": bad.digest,
            "size": len(run_ok(oras, "manifest", "fetch", *registry.oras_args, bad.ref)),
        }

        def put(content: bytes, about: dict):
            layer = push_blob(oras, registry, bad.repository, content, signing.BUNDLE)
            config = push_blob(
                oras, registry, bad.repository, b"{}", manifest["config"]["mediaType"]
            )
            document = {**manifest, "config": config, "layers": [layer], "subject": about}
            text = signing.compact(document)
            digest = "sha256:" + hashlib.sha256(text).hexdigest()
            path = os.path.join(FOLDER.name, "referrer.json")
            with open(path, "wb") as f:
                f.write(text)
            ref = f"{bad.repository}@{digest}"
            run_ok(oras, "manifest", "push", *registry.oras_args, ref, path)
            listed = {**entry, "digest": digest, "size": len(text)}
            tag = f"{bad.repository}:{bad.digest.replace(':', '-')}"
            document = {**index, "manifests": [listed]}
            push_text(oras, registry, tag, signing.INDEX, document)

        put(bundle, subject)
        bad.expect("wrong-digest", key.public)
        put(bundle, {**manifest["subject"]})  # listed here, about something else
        bad.expect("wrong-digest", key.public)
        document = json.loads(bundle)
        envelope = document["dsseEnvelope"]
        body = signing.base64.b64decode(envelope["payload"])
        body = body.replace(good.digest[7:].encode(), bad.digest[7:].encode())
        envelope["payload"] = signing.b64(body)
        put(signing.compact(document), subject)
        bad.expect("bad-signature", key.public)
        envelope["signatures"] *= 2
        put(signing.compact(document), subject)
        bad.expect("extra-signatures", key.public)
        good.expect("verified", key.public)


def test_cosign_ed25519_is_refused():
    """cosign signs with Ed25519ph, which OpenSSL 3.0 does not know; our own is Ed25519."""
    with Docker() as registry:
        key, artifact = CosignKey("ed", "ed25519"), Artifact(registry, "ed/parts")
        cosign_sign(registry, artifact.by_digest, key, "bundle")
        artifact.expect("bad-signature", key.public)


def test_skopeo_sees_the_same_digest():
    servers.need("skopeo")
    with Docker() as registry:
        artifact = Artifact(registry, "s/parts")
        ca = os.path.dirname(registry.args[1])
        certs = os.path.join(artifact.folder, "certs")
        os.makedirs(certs)
        shutil.copy(os.path.join(ca, "ca.pem"), os.path.join(certs, "ca.crt"))
        raw = run_ok("skopeo", "inspect", "--raw", "--cert-dir", certs, f"docker://{artifact.ref}")
        digest = "sha256:" + hashlib.sha256(raw.encode()).hexdigest()
        check(digest == artifact.digest, f"{digest} is not {artifact.digest}")


def main():
    try:
        gotools.go()
    except gotools.Missing as why:
        print(f"skip - interop: {why}")
        return 77
    return story.run(
        test_oras_push,
        test_oras_pulls_what_picketctl_pushed,
        test_skopeo_sees_the_same_digest,
        test_referrers_api,
        test_zot,
        test_cosign_both_ways_by_tag,
        test_cosign_both_ways_by_api,
        test_cosign_attestation_is_no_signature,
        test_tampered_cosign_signature,
        test_tampered_cosign_bundle,
        test_cosign_ed25519_is_refused,
    )


if __name__ == "__main__":
    sys.exit(main())
