#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Signatures made by the openssl program against picketctl, and the other way round: each way in
which a signature must not count has its own reason."""

import hashlib
import json
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import servers  # noqa: E402
import signing  # noqa: E402
from signing import Key, Layout, b64, bundle, compact, payload, statement  # noqa: E402

story = servers.story
check = story.check

FOLDER = tempfile.TemporaryDirectory(prefix="picket-signatures-")
NAME = "yolo"


class Keys:
    a = Key(FOLDER.name, "a")
    b = Key(FOLDER.name, "b")
    ed = Key(FOLDER.name, "ed", "ed25519")
    foreign = Key(FOLDER.name, "foreign")
    p384 = Key(FOLDER.name, "p384", "p384")


PINNED = (Keys.a, Keys.b, Keys.ed)
made = 0


def layout(**annotations) -> tuple[Layout, str]:
    """A new layout with an artifact, and the hex of its digest."""
    global made
    made += 1
    new = Layout(os.path.join(FOLDER.name, f"layout-{made}"))
    annotations = {"dev_picket_model_name": NAME, "dev_picket_model_seq": "7", **annotations}
    return new, new.artifact(**annotations)


def verify(ref: str, *args: str, keys=PINNED) -> tuple[int, dict]:
    """(exit code, what picketctl bundle verify --json says)."""
    pinned = [arg for key in keys for arg in ("--key", key.public)]
    done = servers.picketctl("bundle", "verify", ref, "--json", *pinned, *args, root=FOLDER.name)
    return done.returncode, json.loads(done.stdout or "{}")


def verify_layout(new: Layout, *args: str, **options):
    return verify(f"oci:{new.folder}:v1", *args, **options)


def expect(reason: str, found: tuple[int, dict], what: str):
    code, said = found
    check(
        said.get("reason") == reason and code == (0 if reason == "verified" else 4),
        f"{what}: exit {code}, {said}, expected {reason}",
    )
    check(said["verified"] == (reason == "verified"), f"{what}: {said}")


def cosign_rows(digest: str):
    """(what, payload, base64 signature, reason) of layers that stand alone in a .sig manifest."""
    good = compact(payload(digest))
    signature = Keys.a.sign(good)
    ed = b64(Keys.ed.sign(good))

    def signed(what, body, reason):
        return what, body, b64(Keys.a.sign(body)), reason

    loose = ed[:-3] + chr(ord(ed[-3]) + 1) + ed[-2:]  # unused bits are set
    r, s = signing.integers_of(signature)
    padded = signing.der_of(r, s, padding=b"\0")
    return [
        ("P-256", good, b64(signature), "verified"),
        ("Ed25519", good, ed, "verified"),
        ("its malleable twin", good, b64(signing.twin(signature)), "verified"),
        ("wrong key", good, b64(Keys.foreign.sign(good)), "bad-signature"),
        ("a changed payload", good.replace(b"some", b"other"), b64(signature), "bad-signature"),
        ("a P-384 signature", good, b64(Keys.p384.sign(good)), "malformed"),
        ("truncated DER", good, b64(signature[:-3]), "malformed"),
        ("DER and a byte more", good, b64(signature + b"\0"), "malformed"),
        ("DER with a padded number", good, b64(padded), "malformed"),
        ("r is zero", good, b64(signing.der_of(0, s)), "malformed"),
        ("s is the order", good, b64(signing.der_of(r, signing.ORDER_P256)), "bad-signature"),
        ("no annotation", good, None, "malformed"),
        ("an empty signature", good, "", "malformed"),
        ("base64 that is not canonical", good, loose, "malformed"),
        ("base64 without padding", good, ed.rstrip("="), "malformed"),
        ("base64 with a line end", good, ed + "\n", "malformed"),
        ("url-safe base64", good, "_-" + ed[2:], "malformed"),
        signed("another digest", compact(payload("sha256:" + "0" * 64)), "wrong-digest"),
        signed("an upper-case digest", compact(payload(digest.upper())), "wrong-digest"),
        signed("another type", compact(payload(digest, type="atomic sbom")), "not-a-signature"),
        signed("no type", compact(payload(digest, type=None)), "malformed"),
        signed("no JSON", b"hello", "malformed"),
        signed("two JSON texts", good + good, "malformed"),
        signed(
            "a key twice",
            good.replace(b'"critical":', b'"critical":{},"critical":'),
            "malformed",
        ),
        signed(
            "the digest twice",
            good.replace(b'{"docker-manifest', b'{"docker-manifest-digest":"x","docker-manifest'),
            "malformed",
        ),
        signed(
            "the digest in both spellings",
            good.replace(b'{"docker-manifest', b'{"Docker-manifest-digest":"x","docker-manifest'),
            "malformed",
        ),
        signed("an endless payload", good + b" " * 70000, "too-big"),
    ]


def test_cosign_rows():
    new, digest = layout()
    n = 0
    for what, body, signature, reason in cosign_rows("sha256:" + digest):
        new.cosign((body, signature))
        found = verify_layout(new, "--format", "cosign")
        expect(reason, found, what)
        n += 1
    story.keep_figures(signature_rows_cosign=n)


def bundle_rows(digest: str):
    """(what, bundle's bytes, reason)."""
    body = compact(statement(digest))
    good = bundle(Keys.a, body)

    def changed(**changes):
        return compact({**good, **changes})

    def envelope(**changes):
        return changed(dsseEnvelope={**good["dsseEnvelope"], **changes})

    def signed(**changes):
        return compact(bundle(Keys.a, compact(statement(digest, **changes))))

    signature = good["dsseEnvelope"]["signatures"][0]
    loose = good["dsseEnvelope"]["payload"]
    foreign = bundle(Keys.foreign, body)
    return [
        ("P-256", compact(good), "verified"),
        ("Ed25519", compact(bundle(Keys.ed, body)), "verified"),
        ("keyid null", envelope(signatures=[{**signature, "keyid": None}]), "verified"),
        ("keyid empty", envelope(signatures=[{**signature, "keyid": ""}]), "verified"),
        ("log entries", changed(verificationMaterial={"tlogEntries": [{}]}), "verified"),
        (
            "two subjects",
            signed(subject=[{"digest": {}}, *statement(digest)["subject"]]),
            "verified",
        ),
        (
            "a key of its own",
            changed(
                verificationMaterial={"publicKey": {"rawBytes": "AAAA"}},
                dsseEnvelope=foreign["dsseEnvelope"],
            ),
            "bad-signature",
        ),
        ("a key that is not pinned", compact(foreign), "unknown-key"),
        ("hint only", compact(bundle(Keys.foreign, body, hint=Keys.a.hint)), "bad-signature"),
        ("hint and no signature", envelope(signatures=[{"sig": ""}]), "malformed"),
        ("no signatures", envelope(signatures=[]), "malformed"),
        ("an extra signature", envelope(signatures=[signature, signature]), "extra-signatures"),
        ("another payloadType", envelope(payloadType="application/json"), "payload-type"),
        (
            "a renamed payloadType",
            compact(
                {
                    **bundle(Keys.a, body, "text/plain"),
                    "dsseEnvelope": {
                        **bundle(Keys.a, body, "text/plain")["dsseEnvelope"],
                        "payloadType": signing.INTOTO,
                    },
                }
            ),
            "bad-signature",
        ),
        ("another payload", envelope(payload=b64(body + b" ")), "bad-signature"),
        ("a payload that is not canonical", envelope(payload=loose + "\n"), "malformed"),
        (
            "a blob's signature",
            compact(
                {
                    "mediaType": signing.BUNDLE,
                    "verificationMaterial": {},
                    "messageSignature": {"signature": "AAAA"},
                }
            ),
            "not-a-signature",
        ),
        ("no envelope", changed(dsseEnvelope=None), "malformed"),
        (
            "no verification material",
            compact({k: v for k, v in good.items() if k[0] != "v"}),
            "malformed",
        ),
        (
            "version 0.1",
            changed(mediaType="application/vnd.dev.sigstore.bundle+json;version=0.1"),
            "unsupported",
        ),
        ("a list of parts", signed(predicateType="https://spdx.dev/Document"), "not-a-signature"),
        (
            "an attestation",
            signed(predicateType="https://slsa.dev/provenance/v1"),
            "not-a-signature",
        ),
        ("a signature of loose files", signed(predicateType=signing.OMS), "not-a-signature"),
        (
            "an older statement",
            signed(_type="https://in-toto.io/Statement/v0.1"),
            "not-a-signature",
        ),
        ("another digest", signed(subject=[{"digest": {"sha256": "0" * 64}}]), "wrong-digest"),
        (
            "an upper-case digest",
            signed(subject=[{"digest": {"sha256": digest.upper()}}]),
            "wrong-digest",
        ),
        ("another algorithm", signed(subject=[{"digest": {"sha512": digest}}]), "wrong-digest"),
        ("no subject", signed(subject=[]), "wrong-digest"),
        (
            "a key twice",
            compact(good).replace(b'{"mediaType"', b'{"mediaType":"x","mediaType"'),
            "malformed",
        ),
        (
            "a key twice in the statement",
            compact(bundle(Keys.a, body.replace(b'{"_type"', b'{"predicateType":"x","_type"'))),
            "malformed",
        ),
        ("a P-384 signature", compact(bundle(Keys.p384, body)), "malformed"),
        ("an endless bundle", compact(good) + b" " * 70000, "too-big"),
    ]


def test_bundle_rows():
    new, digest = layout()
    n = 0
    for what, body, reason in bundle_rows(digest):
        new.referrers(body)
        expect(reason, verify_layout(new, "--format", "bundle"), what)
        n += 1
    good = compact(bundle(Keys.a, compact(statement(digest))))
    new.referrers(good, subject=new.put(b"{}"))
    expect("wrong-digest", verify_layout(new), "a referrer of something else")
    story.keep_figures(signature_rows_bundle=n + 1)


def test_blob_that_was_changed():
    new, digest = layout()
    body = compact(payload("sha256:" + digest))
    new.cosign((body, b64(Keys.a.sign(body))))
    path = os.path.join(new.blobs, signing.sha256(body))
    with open(path, "r+b") as f:
        f.write(b"[")
    expect("malformed", verify_layout(new), "bytes that do not match their digest")
    os.truncate(path, 10)
    expect("malformed", verify_layout(new), "a cut payload")
    os.unlink(path)
    expect("malformed", verify_layout(new), "a missing payload")


def test_threshold_counts_keys():
    new, digest = layout()
    body = compact(payload("sha256:" + digest))
    first = Keys.a.sign(body)
    same = [(body, b64(s)) for s in (first, signing.twin(first), Keys.a.sign(body))]
    new.cosign(*same)
    expect("verified", verify_layout(new), "one of one")
    expect("threshold", verify_layout(new, "--threshold", "2"), "three signatures, one key")
    new.referrers(compact(bundle(Keys.a, compact(statement(digest)))))
    expect("threshold", verify_layout(new, "--threshold", "2"), "two formats, one key")
    new.referrers(compact(bundle(Keys.ed, compact(statement(digest)))))
    code, said = verify_layout(new, "--threshold", "2")
    expect("verified", (code, said), "two keys")
    check(sorted(said["keys"]) == sorted([Keys.a.id, Keys.ed.id]), f"keys: {said}")
    revoked = ("--revoked", Keys.ed.public)
    expect("threshold", verify_layout(new, "--threshold", "2", *revoked), "one of two revoked")


def test_keys():
    new, digest = layout()
    expect("none-found", verify_layout(new), "no signature")
    body = compact(payload("sha256:" + digest))
    new.cosign((body, b64(Keys.a.sign(body))))
    expect("revoked-key", verify_layout(new, "--revoked", Keys.a.public), "revoked")
    expect("bad-signature", verify_layout(new, keys=[Keys.b]), "not pinned")
    for key, why in ((Keys.p384.public, "P-256"), (Keys.a.private, "private key")):
        ref = f"oci:{new.folder}:v1"
        done = servers.picketctl("bundle", "verify", ref, "--key", key, root=FOLDER.name)
        check(done.returncode == 2 and why in done.stderr, f"{key}: {done.stderr}")


def test_name_target_and_number():
    new, digest = layout(dev_picket_target="orin,agx")
    new.referrers(compact(bundle(Keys.a, compact(statement(digest)))))
    code, said = verify_layout(new, "--name", NAME, "--target", "agx")
    expect("verified", (code, said), "right name and target")
    check((said["name"], said["seq"]) == (NAME, 7), f"what is signed: {said}")
    expect("wrong-name", verify_layout(new, "--name", "face"), "another model's signature")
    expect("wrong-target", verify_layout(new, "--target", "nano"), "another kind of node")
    for seq in ("9007199254740993", "-1", "07", "1e3", "18446744073709551623"):
        bad, digest = layout(dev_picket_model_seq=seq)
        bad.referrers(compact(bundle(Keys.a, compact(statement(digest)))))
        code, said = verify_layout(bad)
        check(code == 1 and "dev.picket.model.seq" in said["text"], f"seq {seq}: {code} {said}")


def oms_statement(files: dict, **changes) -> dict:
    """What is signed of {name: bytes}; changes go into the predicate's two halves."""
    resources = [
        {"name": n, "algorithm": "sha256", "digest": signing.sha256(files[n])}
        for n in sorted(files)
    ]
    root = hashlib.sha256(b"".join(bytes.fromhex(r["digest"]) for r in resources)).hexdigest()
    serialization = {"method": "files", "hash_type": "sha256", "allow_symlinks": False}
    serialization["ignore_paths"] = [".git", "ignore-me"]
    return statement(
        root,
        subject=[{"name": "model", "digest": {"sha256": changes.pop("root", root)}}],
        predicateType=changes.pop("predicateType", signing.OMS),
        predicate={
            "resources": changes.pop("resources", resources),
            "serialization": {**serialization, **changes},
        },
    )


def test_loose_files():
    """OpenSSF Model Signing: the shapes of the public vectors, valid and not."""
    folder = os.path.join(FOLDER.name, "model")
    files = {"signme-1": b"one", "signme-2": b"two", "sub/weights.bin": bytes(5000)}
    os.makedirs(os.path.join(folder, "sub"))

    def write(name, content):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(content)

    def verify_files(bundle_bytes, keys=PINNED):
        write("model.sig", bundle_bytes)
        return verify(folder, "--oms", os.path.join(folder, "model.sig"), keys=keys)

    for name, content in files.items():
        write(name, content)
    write("ignore-me", b"not signed")
    good = compact(bundle(Keys.a, compact(oms_statement(files)), hint=Keys.a.id))
    rows = [
        ("valid/key", good, "verified"),
        (
            "valid, an older shape",
            compact(
                {
                    **json.loads(good),
                    "verificationMaterial": {
                        "publicKey": {"rawBytes": "AAAA", "keyDetails": "PKIX_ECDSA_P256_SHA_256"},
                        "tlogEntries": [],
                    },
                }
            ),
            "verified",
        ),
        ("valid, of Ed25519", compact(bundle(Keys.ed, compact(oms_statement(files)))), "verified"),
        (
            "invalid/missing-envelope",
            compact({k: v for k, v in json.loads(good).items() if k != "dsseEnvelope"}),
            "malformed",
        ),
        (
            "invalid/missing-verification-material",
            compact({k: v for k, v in json.loads(good).items() if k[0] != "v"}),
            "malformed",
        ),
        (
            "valid/key of P-384",
            compact(bundle(Keys.p384, compact(oms_statement(files)))),
            "malformed",
        ),
        (
            "a foreign key",
            compact(bundle(Keys.foreign, compact(oms_statement(files)))),
            "unknown-key",
        ),
    ]
    changes = [
        (
            "invalid-payload/wrong-predicate",
            {"predicateType": "https://example.com/wrong-predicate/v1.0"},
            "not-a-signature",
        ),
        ("version 0.2", {"predicateType": "https://model_signing/Digests/v0.1"}, "not-a-signature"),
        ("shards", {"method": "shards", "shard_size": 8}, "unsupported"),
        ("shard_size with files", {"shard_size": 8}, "malformed"),
        ("another hash", {"hash_type": "blake2b"}, "unsupported"),
        ("a wrong root digest", {"root": "0" * 64}, "wrong-digest"),
        ("no resources", {"resources": []}, "malformed"),
        (
            "not in order",
            {"resources": oms_statement(files)["predicate"]["resources"][::-1]},
            "malformed",
        ),
        ("nothing ignored", {"ignore_paths": []}, "extra-file"),
        ("ignored outside", {"ignore_paths": ["../x"]}, "malformed"),
    ]
    for what, change, reason in changes:
        rows.append(
            (what, compact(bundle(Keys.a, compact(oms_statement(files, **change)))), reason)
        )
    for name in ("../signme-1", "/etc/passwd", "./signme-1"):
        listed = [{"name": name, "algorithm": "sha256", "digest": signing.sha256(b"one")}]
        body = compact(oms_statement(files, resources=listed))
        rows.append((f"the name {name}", compact(bundle(Keys.a, body)), "malformed"))
    for what, body, reason in rows:
        expect(reason, verify_files(body), what)
    write("extra", b"x")
    expect("extra-file", verify_files(good), "an extra file")
    os.unlink(os.path.join(folder, "extra"))
    write("signme-1", b"One")
    expect("wrong-digest", verify_files(good), "a changed file")
    os.unlink(os.path.join(folder, "signme-1"))
    expect("missing-file", verify_files(good), "a missing file")
    story.keep_figures(signature_rows_oms=len(rows) + 3)


def test_openssl_verifies_what_picketctl_signs():
    for kind, key in (
        ("cosign", Keys.a),
        ("bundle", Keys.a),
        ("cosign", Keys.ed),
        ("bundle", Keys.ed),
    ):
        new, digest = layout()
        ref = f"oci:{new.folder}:v1"
        sign = ("bundle", "sign", ref, "--key", key.private, "--format", kind, "--json")
        done = servers.picketctl(*sign, root=FOLDER.name)
        check(done.returncode == 0, f"sign: {done.stderr}")
        said = json.loads(done.stdout)
        check((said["key"], said["digest"][7:]) == (key.id, digest), f"sign: {said}")
        again = json.loads(servers.picketctl(*sign, root=FOLDER.name).stdout)
        check(again["already"] and not said["already"], f"signed twice: {again}")
        signatures = 0
        for name in os.listdir(new.blobs):
            with open(os.path.join(new.blobs, name), "rb") as f:
                blob = f.read()
            document = json.loads(blob)
            for layer in document.get("layers", []) if kind == "cosign" else []:
                text = layer.get("annotations", {}).get("dev.cosignproject.cosign/signature")
                if text:
                    with open(os.path.join(new.blobs, layer["digest"][7:]), "rb") as f:
                        ok = key.verify(f.read(), signing.base64.b64decode(text))
                    check(ok, "openssl refuses the cosign signature")
                    signatures += 1
            if "dsseEnvelope" in document:
                envelope = document["dsseEnvelope"]
                body = signing.base64.b64decode(envelope["payload"])
                signature = signing.base64.b64decode(envelope["signatures"][0]["sig"])
                ok = key.verify(signing.pae(envelope["payloadType"], body), signature)
                check(ok, "openssl refuses the bundle")
                check(json.loads(body)["subject"][0]["digest"]["sha256"] == digest, "its subject")
                signatures += 1
        check(signatures == 1, f"{kind}: {signatures} signatures")


def test_every_reason_is_documented():
    """docs/SIGNATURES.md has each word that a verdict may give, and no other."""
    with open(os.path.join(servers.TOP, "registry/signature.h"), encoding="utf-8") as f:
        words = set(re.findall(r'X\(\w+, "([a-z-]+)"', f.read()))
    with open(os.path.join(servers.TOP, "docs/SIGNATURES.md"), encoding="utf-8") as f:
        table = f.read().split("| reason | what was found |")[1].split("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines()[2:]]
    told = set(re.findall(r"`([a-z-]+)`", " ".join(rows)))
    check(len(words) > 20 and words == told, f"not told or not there: {sorted(words ^ told)}")


def test_key_verb():
    """Keys that picketctl makes are keys to openssl, and the other way round."""
    for kind in ("ecdsa-p256", "ed25519"):
        base = os.path.join(FOLDER.name, f"made-{kind}")
        env = {**os.environ, "PICKET_KEY_PASSPHRASE": "secret"}
        generate = ("key", "generate", base, "--kind", kind, "--json")
        done = servers.picketctl(*generate, root=FOLDER.name, env=env)
        check(done.returncode == 0, done.stderr)
        said = json.loads(done.stdout)
        der = Key.openssl("pkey", "-pubin", "-in", f"{base}.pub.pem", "-outform", "DER")
        check(said["id"] == signing.sha256(der) and said["kind"] == kind, f"{said}")
        private = f"{base}.key.pem"
        check(os.stat(private).st_mode & 0o777 == 0o600, "others may read the private key")
        plain = Key.openssl("pkey", "-in", private, "-passin", "pass:secret", "-pubout")
        with open(f"{base}.pub.pem", "rb") as f:
            check(f.read() == plain, "the two halves do not belong together")
        again = servers.picketctl(*generate, root=FOLDER.name)
        check(again.returncode == 1 and "there already" in again.stderr, again.stderr)
        new, _ = layout()
        sign = ("bundle", "sign", f"oci:{new.folder}:v1", "--key", private)
        without = servers.picketctl(*sign, root=FOLDER.name)
        check(without.returncode == 1 and "passphrase" in without.stderr, without.stderr)
        check(servers.picketctl(*sign, root=FOLDER.name, env=env).returncode == 0, "sign")
    shown = servers.picketctl("key", "show", Keys.a.public, Keys.ed.public, root=FOLDER.name)
    check(shown.stdout.split()[0] == Keys.a.id and Keys.ed.id in shown.stdout, shown.stdout)
    refused = servers.picketctl("key", "show", Keys.p384.public, root=FOLDER.name)
    check(refused.returncode == 1 and "P-256" in refused.stderr, refused.stderr)
    check(
        servers.picketctl("key", "generate", "x", "--kind", "rsa", root="").returncode == 2, "rsa"
    )


def test_signed_layout_pushed_to_a_registry():
    """docker-registry has no referrers API: the bundle is found by its tag."""
    servers.need("docker-registry", "openssl")
    folder = os.path.join(FOLDER.name, "push")
    servers.make_layout(os.path.join(folder, "layout"), 100_000)
    ref = f"oci:{folder}/layout:v1"
    authority = servers.Authority(folder)
    with servers.DockerRegistry(folder, authority) as registry:
        target = f"{registry.host}/models/parts:v1"
        ca = ("--ca", authority.cert)
        for key, kind in ((Keys.a, "cosign"), (Keys.ed, "bundle")):
            sign = ("bundle", "sign", ref, "--key", key.private, "--format", kind)
            done = servers.picketctl(*sign, root=folder)
            check(done.returncode == 0, done.stderr)
        done = servers.picketctl("push", ref, target, *ca, root=folder)
        check(done.returncode == 0, f"push: {done.stderr}")
        code, said = verify(target, "--threshold", "2", *ca)
        expect("verified", (code, said), "over TLS")
        check(sorted(said["keys"]) == sorted([Keys.a.id, Keys.ed.id]), f"keys: {said}")
        expect("verified", verify(target, "--format", "cosign", *ca), "cosign over TLS")
        expect("verified", verify(target, "--format", "bundle", *ca), "bundle over TLS")
        expect("bad-signature", verify(target, "--format", "cosign", *ca, keys=[Keys.b]), "key b")
        code, said = verify(target)
        check((code, said["reason"]) == (4, "trouble"), f"no CA: {code} {said}")
    code, said = verify(target, *ca)
    check(code == 3 and said["reason"] == "trouble", f"registry gone: {code} {said}")


def main():
    servers.need("openssl")
    return story.run(
        test_cosign_rows,
        test_bundle_rows,
        test_blob_that_was_changed,
        test_threshold_counts_keys,
        test_keys,
        test_name_target_and_number,
        test_loose_files,
        test_openssl_verifies_what_picketctl_signs,
        test_every_reason_is_documented,
        test_key_verb,
        test_signed_layout_pushed_to_a_registry,
    )


if __name__ == "__main__":
    sys.exit(main())
