# SPDX-License-Identifier: Apache-2.0
"""Signatures made with the openssl program, put into OCI layouts by hand: well-formed or not."""

import base64
import hashlib
import json
import os
import subprocess

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
SIMPLE = "application/vnd.dev.cosign.simplesigning.v1+json"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
INTOTO = "application/vnd.in-toto+json"
SIGN = "https://sigstore.dev/cosign/sign/v1"
OMS = "https://model_signing/signature/v1.0"
ORDER_P256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def compact(value) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class Key:
    """A key pair in two PEM files. kind: p256, p384 or ed25519."""

    def __init__(self, folder: str, name: str, kind: str = "p256"):
        self.private = os.path.join(folder, f"{name}.key.pem")
        self.public = os.path.join(folder, f"{name}.pub.pem")
        self.kind = kind
        curves = {"p256": "P-256", "p384": "P-384"}
        algorithm = ["ed25519"]
        if kind in curves:
            algorithm = ["EC", "-pkeyopt", f"ec_paramgen_curve:{curves[kind]}"]
        self.openssl("genpkey", "-algorithm", *algorithm, "-out", self.private)
        self.openssl("pkey", "-in", self.private, "-pubout", "-out", self.public)
        der = self.openssl("pkey", "-in", self.private, "-pubout", "-outform", "DER")
        self.id = sha256(der)
        self.hint = b64(hashlib.sha256(der).digest())  # as cosign writes it

    @staticmethod
    def openssl(*args, data=None) -> bytes:
        done = subprocess.run(["openssl", *args], input=data, capture_output=True, check=True)
        return done.stdout

    def sign(self, message: bytes) -> bytes:
        if self.kind != "ed25519":
            return self.openssl("dgst", "-sha256", "-sign", self.private, data=message)
        path = self.private + ".message"  # pkeyutl must know the length before it reads
        with open(path, "wb") as f:
            f.write(message)
        return self.openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.private, "-in", path)

    def verify(self, message: bytes, signature: bytes) -> bool:
        for name, content in ((".message", message), (".signature", signature)):
            with open(self.private + name, "wb") as f:
                f.write(content)
        inputs = ["-in", self.private + ".message", "-sigfile", self.private + ".signature"]
        command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", self.public]
        command += ["-digest", "sha256"] if self.kind != "ed25519" else []
        done = subprocess.run(command + inputs, capture_output=True, check=False)
        return done.returncode == 0


def integers_of(der: bytes) -> tuple[int, int]:
    """r and s of a short DER signature."""
    n = der[3]
    return int.from_bytes(der[4 : 4 + n], "big"), int.from_bytes(der[6 + n :], "big")


def der_of(r: int, s: int, padding: bytes = b"") -> bytes:
    parts = b""
    for number in (r, s):
        raw = padding + number.to_bytes(number.bit_length() // 8 + 1, "big")
        parts += bytes([2, len(raw)]) + raw
    return bytes([0x30, len(parts)]) + parts


def twin(der: bytes) -> bytes:
    """Another signature of the same message by the same key, made without it."""
    r, s = integers_of(der)
    return der_of(r, ORDER_P256 - s)


def pae(kind: str, body: bytes) -> bytes:
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(body), body)


def payload(digest: str, **changes) -> dict:
    critical = {
        "identity": {"docker-reference": "reg.example/some/repository"},
        "image": {"docker-manifest-digest": digest},
        "type": "cosign container image signature",
    }
    return {"critical": {**critical, **changes}, "optional": None}


def statement(digest_hex: str, **changes) -> dict:
    good = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {"sha256": digest_hex}}],
        "predicateType": SIGN,
        "predicate": {},
    }
    return {**good, **changes}


def bundle(key: Key, body: bytes, kind: str = INTOTO, hint: str | None = None) -> dict:
    signature = key.sign(pae(kind, body))
    return {
        "mediaType": BUNDLE,
        "verificationMaterial": {"publicKey": {"hint": key.hint if hint is None else hint}},
        "dsseEnvelope": {
            "payload": b64(body),
            "payloadType": kind,
            "signatures": [{"sig": b64(signature)}],
        },
    }


class Layout:
    """An OCI layout folder that is written as the test says, true or not."""

    def __init__(self, folder: str):
        self.folder = folder
        self.blobs = os.path.join(folder, "blobs/sha256")
        self.tags = {}
        os.makedirs(self.blobs)
        with open(os.path.join(folder, "oci-layout"), "w", encoding="ascii") as f:
            f.write('{"imageLayoutVersion":"1.0.0"}')

    def put(self, data: bytes, media_type: str = MANIFEST, **more) -> dict:
        """The descriptor of a new blob."""
        with open(os.path.join(self.blobs, sha256(data)), "wb") as f:
            f.write(data)
        digest = f"sha256:{sha256(data)}"
        return {"mediaType": media_type, "digest": digest, "size": len(data), **more}

    def tag(self, name: str, descriptor: dict):
        self.tags[name] = descriptor
        entries = [
            {**d, "annotations": {"org.opencontainers.image.ref.name": t}}
            for t, d in self.tags.items()
        ]
        with open(os.path.join(self.folder, "index.json"), "wb") as f:
            f.write(compact({"schemaVersion": 2, "manifests": entries}))

    def artifact(self, **annotations) -> str:
        """A small artifact tagged v1; the hex of its digest."""
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": "application/vnd.cncf.model.manifest.v1+json",
            "config": self.put(b"{}", "application/vnd.oci.empty.v1+json"),
            "layers": [],
            "annotations": {k.replace("_", "."): v for k, v in annotations.items()},
        }
        self.tag("v1", self.put(compact(manifest)))
        return self.tags["v1"]["digest"][7:]

    def cosign(self, *layers: tuple[bytes, str | None]):
        """(payload, base64 of its signature) each, as the .sig manifest of v1."""
        made = []
        for body, signature in layers:
            layer = self.put(body, SIMPLE)
            if signature is not None:
                layer["annotations"] = {"dev.cosignproject.cosign/signature": signature}
            made.append(layer)
        config = self.put(b"{}", "application/vnd.oci.image.config.v1+json")
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": made}
        self.tag(self.tags["v1"]["digest"].replace(":", "-") + ".sig", self.put(compact(manifest)))

    def referrers(self, *bundles: bytes, subject: dict | None = None):
        """Bundles as referrers of v1, listed under the tag that stands for the API."""
        entries = []
        for body in bundles:
            manifest = {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "artifactType": BUNDLE,
                "config": self.put(b"{}", "application/vnd.oci.empty.v1+json"),
                "layers": [self.put(body, BUNDLE)],
                "subject": subject or self.tags["v1"],
            }
            entries.append(self.put(compact(manifest), MANIFEST, artifactType=BUNDLE))
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
        tag = self.tags["v1"]["digest"].replace(":", "-")
        self.tag(tag, self.put(compact(index), INDEX))
