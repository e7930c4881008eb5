#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Servers that demand, lie about what they send, or prove nothing; networks that are not there."""

import base64
import json
import os
import socket
import ssl
import sys
import time

import fault_server as fs
from fault_server import Site, answer
from faults import (
    DIGEST,
    MODEL,
    TAG,
    USER,
    W,
    basic,
    fine,
    get,
    no_secret,
    probe,
    refused,
    site,
    run_tests,
)
from servers import PICKETCTL, Authority, pull, run
import story
from story import check

# Who we are


class Tokens:
    """The place of tokens at a site: /token."""

    def __init__(self, s: Site, challenge: str | None = None, answer_json: dict | None = None):
        self.site = s
        self.answer_json = answer_json or {"token": "tok-1", "expires_in": 300}
        default = f'Bearer realm="{s.url}/token",service="svc",scope="repository:m/y:pull"'
        self.challenge = challenge or default
        s.fault("/v2/", self.guard, 10**6)
        s.fault("/token", self.hand_out, 10**6)

    def guard(self, request, reply):
        if request.headers.get("authorization", "").startswith("Bearer tok"):
            return False
        return reply.send(401, [("WWW-Authenticate", self.challenge)])

    def hand_out(self, _request, reply):
        body = json.dumps(self.answer_json).encode()
        reply.send(200, [("Content-Type", "application/json")], body)


def test_basic():
    with site() as s:
        basic(s)
        fine(s, *W.user())
        # The tag's request met the demand; the others knew it.
        check(len(s.requests) == 3, f"{len(s.requests)} requests")


def test_basic_with_wrong_password():
    with site() as s:
        basic(s)
        wrong = os.path.join(W.folder, "wrong")
        with open(wrong, "w", encoding="utf-8") as f:
            f.write("wrong-word")
        out = refused(s, "EACCES", "401", *USER, wrong)
        check(len(s.requests) == 2, f"{len(s.requests)} requests")
        no_secret("wrong-word", out)


def test_basic_demanded_of_an_anonymous():
    with site() as s:
        basic(s)
        refused(s, "EACCES", "none are configured")
        check(len(s.requests) == 1, f"{len(s.requests)} requests")


def test_credentials_of_docker_config():
    with site() as s:
        basic(s)
        path = os.path.join(W.folder, "config.json")
        word = base64.b64encode(b"u:secret-word").decode()
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"auths": {f"https://{s.host}/v1/": {"auth": word}}}, f)
        fine(s, "--auth", path)
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"auths": {}, "credsStore": "desktop"}, f)
        refused(s, "EACCES", "helpers are not run", "--auth", path)


def test_bearer_with_commas_in_quotes():
    with site() as s:
        challenge = (
            f'bearer service="a, b \\"c\\"", scope="repository:m/y:pull,delete",'
            f' Realm="{s.url}/token"'
        )
        Tokens(s, challenge)
        fine(s, *W.user())
        query = s.seen("/token")[0].path
        check("service=a%2C%20b%20%22c%22" in query, query)
        check("scope=repository%3Am%2Fy%3Apull%2Cdelete" in query, query)
        check(s.seen("/token")[0].headers["authorization"].startswith("Basic "), "no password")
        check(len(s.seen("/token")) == 1, "the token was not kept")


def test_never_asks_for_more_than_pull():
    with site() as s:
        realm = f'Bearer realm="{s.url}/token",scope="repository:m/y:pull,push"'
        Tokens(s, realm)
        fine(s)
        query = s.seen("/token")[0].path
        check("scope=repository%3Am%2Fy%3Apull" in query and "push" not in query, query)


def test_two_challenges_in_one_header():
    with site() as s:
        Tokens(s, f'Basic realm="x", Bearer realm="{s.url}/token",service="svc"')
        fine(s, *W.user())
        check(len(s.seen("/token")) == 1, "no token was fetched")


def test_no_scope_asks_for_the_repository():
    with site() as s:
        Tokens(s, f'Bearer realm="{s.url}/token"')
        fine(s)
        check("scope=repository%3Am%2Fy%3Apull" in s.seen("/token")[0].path, "another scope")
        check("authorization" not in s.seen("/token")[0].headers, "a password from nowhere")


def test_foreign_realm_needs_to_be_allowed():
    with site() as s, Site(W.tls, "localhost") as other:
        tokens = Tokens(s, f'Bearer realm="{other.url}/token"')
        other.fault("/token", tokens.hand_out, 9)
        refused(s, "EACCES", "token_hosts", *W.user())
        check(not other.requests, "it was asked")
        fine(s, *W.user(), "--token-host", "localhost")
        check(len(other.requests) == 1, "it was not asked")


def test_http_realm_is_refused():
    with site() as s, Site(None) as plain:
        Tokens(s, f'Bearer realm="{plain.url}/token"')
        refused(s, "EACCES", "over http", *W.user())
        check(not plain.requests, "it was asked")


def test_token_without_expiry():
    with site() as s:
        Tokens(s, answer_json={"token": "tok-2"})
        fine(s)
        check(len(s.seen("/token")) == 1, "not kept")


def test_token_of_a_second_is_renewed_before_its_end():
    with site() as s:
        Tokens(s, answer_json={"token": "tok-3", "expires_in": 1})
        s.fault(TAG, lambda q, r: time.sleep(1.0) or False)
        fine(s, "--stall", "5s")
        check(len(s.seen("/token")) == 2, f"{len(s.seen('/token'))} tokens")
        refusals = [r for r in s.seen("/v2/") if "authorization" not in r.headers]
        check(len(refusals) == 1, "a token was used too long")


def test_access_token_alone():
    with site() as s:
        Tokens(s, answer_json={"access_token": "tok-4"})
        fine(s)


def identity(s: Site) -> list:
    path = os.path.join(W.folder, "identity.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"auths": {s.host: {"identitytoken": "refresh-me"}}}, f)
    return ["--auth", path]


def test_identity_token_by_post():
    with site() as s:
        Tokens(s)
        fine(s, *identity(s))
        (request,) = s.seen("/token")
        form = request.body.decode()
        check(request.method == "POST", request.method)
        check("grant_type=refresh_token" in form and "refresh_token=refresh-me" in form, form)


def test_post_404_falls_back_to_get():
    with site() as s:
        s.fault("POST /token", answer(404), 9)
        Tokens(s)
        fine(s, *identity(s))
        check([r.method for r in s.seen("/token")] == ["POST", "GET"], "no second way")


def test_401_forever():
    with site() as s:
        challenge = ("WWW-Authenticate", f'Bearer realm="{s.url}/token"')
        s.fault("/v2/", answer(401, challenge), 99)
        Tokens(s)
        refused(s, "EACCES", "401", *W.user())
        check(len(s.seen("/v2/")) == 2, f"{len(s.seen('/v2/'))} requests")


def test_token_refused():
    with site() as s:
        s.fault("/token", answer(403), 9)
        Tokens(s)
        refused(s, "EACCES", "token: 403", *W.user())


def test_403_denied():
    with site() as s:
        body = b'{"errors":[{"code":"DENIED","message":"not for you\\u001b[31m"}]}'
        s.fault(TAG, answer(403, body=body), 9)
        refused(s, "EACCES", "DENIED: not for you")
        check(len(s.requests) == 1, "asked again")


# Referrers


def entry(n: int, kind: str = "application/x.sig") -> dict:
    digest = "sha256:" + f"{n:064x}"
    return {"mediaType": fs.MANIFEST, "digest": digest, "size": 100, "artifactType": kind}


def index(*entries) -> bytes:
    return json.dumps(
        {"schemaVersion": 2, "mediaType": fs.INDEX, "manifests": list(entries)}
    ).encode()


def referrers(s: Site, *args) -> list | dict:
    out = probe("referrers", f"{s.host}/m/y:v1", s.digest, *args)
    return out["manifests"] if "manifests" in out else out


IS_INDEX = ("Content-Type", fs.INDEX)


def test_referrers_404_falls_back_to_the_tag():
    with site() as s:
        s.add_manifest("m/y", index(entry(1)), s.digest.replace(":", "-"), fs.INDEX)
        check([e["digest"] for e in referrers(s)] == [entry(1)["digest"]], "not found")


def test_referrers_200_empty():
    with site() as s:
        s.fault("referrers", answer(200, IS_INDEX, body=index()))
        check(referrers(s) == [], "not empty")


def test_referrers_in_pages():
    with site() as s:
        path = f"/v2/m/y/referrers/{s.digest}"
        link = ("Link", f'<{path}?last=1>; rel="next"')
        s.fault(r"referrers/[^?]*$", answer(200, IS_INDEX, link, body=index(entry(1))))
        s.fault(r"last=1", answer(200, IS_INDEX, body=index(entry(2), entry(3, "x/other"))))
        found = [e["digest"] for e in referrers(s, "application/x.sig")]
        check(found == [entry(1)["digest"], entry(2)["digest"]], f"{found}")


def test_referrers_never_ending():
    with site() as s:
        link = ("Link", f'</v2/m/y/referrers/{s.digest}?again>; rel="next"')
        s.fault("referrers", answer(200, IS_INDEX, link, body=index()), 99)
        check(referrers(s)["code"] == "EPROTO", "not refused")
        check(len(s.requests) == 8, f"{len(s.requests)} pages")


def test_referrers_link_to_another_host():
    with site() as s, Site(W.tls, "localhost") as other:
        link = ("Link", f'<{other.url}/v2/m/y/referrers/x>; rel="next"')
        s.fault("referrers", answer(200, IS_INDEX, link, body=index()))
        check(referrers(s)["code"] == "EPROTO", "not refused")
        check(not other.requests, "it was asked")


def test_referrers_fallback_missing():
    with site() as s:
        check(referrers(s) == [], "not empty")


def test_referrers_fallback_is_no_index():
    with site() as s:
        s.add_manifest("m/y", s.manifests["m/y/v1"], s.digest.replace(":", "-"))
        check(referrers(s) == [], "not empty")


def test_referrers_odd_entries_are_left_out():
    with site() as s:
        odd = [{"digest": "sha256:zz"}, 7, {**entry(2), "size": -1}]
        s.fault("referrers", answer(200, IS_INDEX, body=index(*odd, entry(1))))
        check([e["digest"] for e in referrers(s)] == [entry(1)["digest"]], "taken over")


# What a manifest is said to be


def typed(content_type: str, data: bytes | None = None):
    s = site()
    s.fault(TAG, answer(200, ("Content-Type", content_type), body=data or s.manifests["m/y/v1"]), 9)
    return s


def test_content_type_with_parameters():
    with typed(fs.MANIFEST + "; charset=utf-8") as s:
        fine(s)


def test_content_type_that_the_manifest_denies():
    with typed(fs.INDEX) as s:
        refused(s, "EPROTO", "inside")


def test_content_type_text_plain():
    with typed("text/plain") as s:
        refused(s, "EPROTO", "text/plain")


def test_index_by_platform():
    with site() as s:
        data = s.manifests["m/y/v1"]
        arch = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]

        def platform(os_, arch_, digest):
            size = len(data) if digest == s.digest else 5
            return {
                "mediaType": fs.MANIFEST,
                "digest": digest,
                "size": size,
                "platform": {"os": os_, "architecture": arch_},
            }

        other = fs.digest_of(b"other")
        entries = [platform("linux", "riscv64", other), platform("linux", arch, s.digest)]
        pin = s.add_manifest("m/y", index(*entries), "multi", fs.INDEX)
        check(fine(s, ref=f"{s.host}/m/y:multi")["digest"] == s.digest, "another manifest")
        check(fine(s, ref=f"{s.host}/m/y@{pin}")["digest"] == s.digest, "another manifest")
        s.add_manifest("m/y", index(entries[0]), "none", fs.INDEX)
        refused(s, "ENOENT", "linux/riscv64", ref=f"{s.host}/m/y:none")


def test_docker_image():
    docker = "application/vnd.docker.distribution.manifest.v2+json"
    data = json.dumps({"schemaVersion": 2, "mediaType": docker, "config": {}, "layers": []})
    with typed(docker, data.encode()) as s:
        refused(s, "EOPNOTSUPP", "container image")


def test_naive_push_of_one_file():
    """As `oras push` leaves it: an unknown type, a layer that says tar, an empty config."""
    with site() as s:
        layer = {
            **s.add(MODEL),
            "mediaType": "application/vnd.oci.image.layer.v1.tar",
            "annotations": {"org.opencontainers.image.title": "model.onnx"},
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": fs.MANIFEST,
            "artifactType": "application/vnd.unknown.artifact.v1",
            "config": {**fs.EMPTY, "data": "e30="},
            "layers": [layer],
            "annotations": {"org.opencontainers.image.created": "2026-01-01T00:00:00Z"},
        }
        s.add_manifest("m/y", manifest, "naive")
        fine(s, ref=f"{s.host}/m/y:naive")
        check(not s.seen("44136fa"), "the empty config was fetched")


def test_modctl_push():
    """As modctl leaves it: no title, only org.cncf.model.filepath; docs and code beside."""
    with site() as s:

        def layer(kind, path, data):
            note = {"org.cncf.model.filepath": path}
            return {
                **s.add(data),
                "mediaType": f"application/vnd.cncf.model.{kind}.v1.raw",
                "annotations": note,
            }

        manifest = {
            "schemaVersion": 2,
            "mediaType": fs.MANIFEST,
            "artifactType": fs.MODEL,
            "config": {
                **s.add(b'{"descriptor":{}}'),
                "mediaType": "application/vnd.cncf.model.config.v1+json",
            },
            "layers": [
                layer("doc", "README.md", b"# read me"),
                layer("weight", "yolo.onnx", MODEL),
                layer("weight.config", "config.json", b"{}"),
            ],
        }
        s.add_manifest("m/y", manifest, "modctl")
        fine(s, ref=f"{s.host}/m/y:modctl")


# TLS


def test_tls_expired():
    with Site(W.context(days="-1")) as s:
        refused(s, "EKEYREJECTED", "expired")


def test_tls_wrong_host():
    with Site(W.context(names="DNS:other.example")) as s:
        refused(s, "EKEYREJECTED", "no alternative certificate subject name")


def test_tls_self_signed():
    n = len(os.listdir(W.folder))
    own = Authority(W.folder, f"self-{n}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.cert, own.key)
    with Site(context) as s:
        refused(s, "EKEYREJECTED", "self")


def test_tls_unknown_authority():
    with Site(W.context(Authority(W.folder, f"ca-{len(os.listdir(W.folder))}"))) as s:
        refused(s, "EKEYREJECTED", "unable to get local issuer")


def test_tls_1_1_only():
    context = W.context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with Site(context) as s:
        refused(s, "EKEYREJECTED", "version")


def test_tls_client_certificate():
    context = W.context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(W.ca.cert)
    with Site(context) as s:
        s.digest = s.add_artifact("m/y", "v1", MODEL)
        refused(s, "EKEYREJECTED", "certificate required")
        cert, key = W.ca.issue("client", "DNS:node")
        fine(s, "--cert", cert, "--key", key)


def test_never_falls_back_to_http():
    with site(tls=False) as s:
        refused(s, "EKEYREJECTED", "")
        check(not s.requests, "asked over http")
        fine(s, "--insecure")


# The network


def test_connection_refused_and_mirror():
    with site() as s:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            dead = f"127.0.0.1:{taken.getsockname()[1]}"
            out = refused(s, "ECONNREFUSED", ref=f"{dead}/m/y:v1")
            check(out["transient"], "not transient")
            pin = f"{dead}/m/y@{s.digest}"
            check(fine(s, "--mirror", s.host, ref=pin)["source"] == "127.0.0.1", "no mirror")
            # A mirror has no say in what a tag means.
            s.clear()
            refused(s, "ECONNREFUSED", "", "--mirror", s.host, ref=f"{dead}/m/y:v1")
            check(not s.requests, "the mirror was asked for a tag")


def test_mirror_gets_no_password_and_lies_do_not_count():
    with site() as s, Site(W.tls, "localhost") as mirror:
        basic(s)
        mirror.fault("blobs", answer(200, body=MODEL[:-1] + b"?"), 9)
        mirror.fault("manifests", answer(200, ("Content-Type", fs.MANIFEST), body=b"{}"), 9)
        code, out, err = get(s, *W.user(), "--mirror", mirror.host)
        check(mirror.requests, "the mirror was not asked")
        check(all("authorization" not in r.headers for r in mirror.requests), "the password")
        check(code == 0, f"a mirror's lie ended the pull: {out} {err}")


def test_dead_mirror_is_passed_over():
    with site() as s, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        fine(s, "--mirror", f"127.0.0.1:{taken.getsockname()[1]}")


def test_unknown_host_name():
    with site() as s:
        refused(s, "EHOSTUNREACH", "", "--retries", "1", ref="registry.invalid/m/y:v1")


def test_ipv6_black_hole():
    """A name with two addresses; nobody answers on the first."""
    hosts = os.path.join(W.folder, "hosts")
    with open(hosts, "w", encoding="utf-8") as f:
        f.write("::1 localhost\n127.0.0.1 localhost\n")
    inside = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts]
    if run(*inside, "true").returncode != 0:
        raise story.Skip("cannot give localhost two addresses here (needs root)")
    with site("localhost") as s, socket.socket(socket.AF_INET6) as hole:
        hole.bind(("::1", s.port))
        hole.listen(0)
        fillers = [socket.socket(socket.AF_INET6) for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("::1", s.port))
        time.sleep(0.1)
        start = time.monotonic()
        command = [PICKETCTL, "--root", W.new_root(), "pull", f"{s.host}/m/y:v1", "--json"]
        done = run(*inside, *command, "--ca", W.ca.cert)
        check(done.returncode == 0, done.stderr)
        check(time.monotonic() - start < 4, "too long")
        for filler in fillers:
            filler.close()


# Limits, polls, plain files


def test_bandwidth():
    model = MODEL * 20  # 6 MiB: long beside the burst that libcurl begins with
    with site() as s:
        s.add_artifact("m/y", "big", model)
        start = time.monotonic()
        code, _, err = get(s, "--rate", "1500KiB", ref=f"{s.host}/m/y:big")
        took = time.monotonic() - start
        check(code == 0, err)
        check(2.4 < took < 12, f"{took:.1f} s for 6 MiB at 1500 KiB/s")


def test_byte_budget():
    with site() as s:
        root = W.new_root()
        out = refused(s, "EDQUOT", "budget", "--budget", "100KiB", root=root)
        check(out["received_bytes"] < 200_000, f"took {out['received_bytes']}")
        out = fine(s, root=root)
        check(out["resumed_bytes"] > 50_000, "what was paid for is gone")


def test_poll_is_cheap():
    with site() as s:
        first = probe("resolve", f"{s.host}/m/y:v1")
        check(first["digest"] == s.digest and not first["not_modified"], f"{first}")
        again = probe("resolve", f"{s.host}/m/y:v1", first["etag"])
        check(again["not_modified"], f"{again}")
        check(s.requests[-1].headers["if-none-match"] == first["etag"], "no etag was sent")
        check(len(s.requests) == 2, "more requests than polls")
        moved = s.add_artifact("m/y", "v1", b"new")
        later = probe("resolve", f"{s.host}/m/y:v1", first["etag"])
        check(later["digest"] == moved, f"{later}")


def test_plain_file():
    with Site(W.tls) as s:
        s.pages["/models/yolo.onnx"] = ([], MODEL)
        ref = f"{s.url}/models/yolo.onnx#{DIGEST}"
        out = fine(s, ref=ref)
        check(any(b["name"] == "yolo.onnx" for b in out["blobs"]), f"{out['blobs']}")
        wrong = fs.digest_of(b"x")
        refused(s, "EBADMSG", "digest", ref=f"{s.url}/models/yolo.onnx#{wrong}")
        refused(s, "ENOENT", "404", ref=f"{s.url}/nothing.onnx#{DIGEST}")
        s.fault("HEAD", lambda q, r: r.head(200), 9)
        refused(s, "EPROTO", "how long", ref=f"{s.url}/models/yolo.onnx#{DIGEST}")


def test_registry_of_the_config():
    with site() as s:
        basic(s)
        root = W.new_root()
        os.makedirs(os.path.join(root, "etc/picket"))
        with open(os.path.join(root, "etc/picket/picket.yaml"), "w", encoding="utf-8") as f:
            f.write(f"""registries:
  {s.host}: {{ca: {W.ca.cert}, user: u, password_file: {W.password}}}
""")
        code, out, err = pull(f"{s.host}/m/y:v1", root)
        check(code == 0 and out["onnx_digest"] == DIGEST, err)


sys.exit(run_tests(globals()))
