#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The store on a node: killed pulls, cleaning, checking and repairing, with the real programs."""

import glob
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import story  # noqa: E402

PICKETCTL = os.path.join(story.BUILD, "cli/picketctl")
FOLDER = tempfile.TemporaryDirectory(prefix="picket-store-")
LONG = bool(os.environ.get("PICKET_LONG"))
N_KILLS = 200 if LONG else 40
BIG_BYTES = 24 << 20  # takes long enough to be killed within
CONFIG = """runtime: {{chain: [cpu]}}
models:
  parts:
    artifact: oci:{registry}:stable
"""


def node(name: str) -> story.picket.Node:
    return story.picket.Node(os.path.join(FOLDER.name, name), story.BUILD)


def store_json(one, *args, code=0):
    done = one.ctl("store", *args, "--json")
    assert done.returncode == code, f"{args}: exit {done.returncode}: {done.stdout}{done.stderr}"
    return json.loads(done.stdout)


def lib(one, *parts):
    return one.path("var/lib/picket", *parts)


def save_record(one, name, content):
    """As base/record writes it."""
    text = json.dumps(content)
    os.makedirs(lib(one, "state"), exist_ok=True)
    with open(lib(one, "state", name), "w", encoding="utf-8") as f:
        f.write(f"sha256:{hashlib.sha256(text.encode()).hexdigest()}\n{text}")


def layer(blob_folder, data, media_type, title):
    digest = hashlib.sha256(data).hexdigest()
    with open(os.path.join(blob_folder, digest), "wb") as f:
        f.write(data)
    return {
        "mediaType": media_type,
        "digest": f"sha256:{digest}",
        "size": len(data),
        "annotations": {"org.opencontainers.image.title": title},
    }


def big_artifact(layout, seed, tag):
    """An artifact with a weight that is no model: only its bytes matter. Its digest."""
    blobs = os.path.join(layout, "blobs/sha256")
    os.makedirs(blobs, exist_ok=True)
    weight = random.Random(seed).randbytes(BIG_BYTES)
    prefix = "application/vnd.cncf.model."
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "artifactType": prefix + "manifest.v1+json",
        "config": layer(blobs, b'{"config":{}}', prefix + "config.v1+json", "config.json"),
        "layers": [
            layer(blobs, weight, prefix + "weight.v1.raw", "model.onnx"),
            layer(blobs, b"name: %d\n" % seed, prefix + "weight.config.v1.raw", "card.yaml"),
        ],
    }
    text = json.dumps(manifest).encode()
    entry = layer(blobs, text, manifest["mediaType"], "m")
    entry["annotations"] = {"org.opencontainers.image.ref.name": tag}
    index_path = os.path.join(layout, "index.json")
    index = {"schemaVersion": 2, "manifests": []}
    if os.path.exists(index_path):
        with open(index_path, encoding="utf-8") as f:
            index = json.load(f)
    index["manifests"].append(entry)
    with open(index_path, "w", encoding="utf-8") as f:
        json.dump(index, f)
    with open(os.path.join(layout, "oci-layout"), "w", encoding="utf-8") as f:
        f.write('{"imageLayoutVersion":"1.0.0"}')
    return entry["digest"]


def pull_command(one, tag):
    return [PICKETCTL, "--root", one.root, "pull", f"oci:{one.path('registry')}:{tag}"]


def kill_within(command, seconds):
    """True when the command was killed before its end."""
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
    return child.wait() == -signal.SIGKILL


def pulls_survive_kill():
    """Old whole, nothing bad, the next pull goes on from what is there."""
    one = node("kill")
    old = big_artifact(one.path("registry"), 1, "old")
    new = big_artifact(one.path("registry"), 2, "new")
    subprocess.run(pull_command(one, "old"), check=True, stdout=subprocess.DEVNULL)
    save_record(one, "parts.json", {"v": 1, "active": old})
    started = time.monotonic()
    subprocess.run(pull_command(one, "new"), check=True, stdout=subprocess.DEVNULL)
    whole_s = time.monotonic() - started
    assert store_json(one, "gc")["files"] == 3, "weight, card and manifest of `new`"
    chance = random.Random(7)
    n_killed, n_with_part = 0, 0
    for i in range(N_KILLS):
        n_killed += kill_within(pull_command(one, "new"), chance.uniform(0, whole_s * 1.1))
        n_with_part += bool(glob.glob(lib(one, "tmp/*.part")))
        found = store_json(one, "fsck")
        assert found["bad"] == 0 and found["missing"] == 0, f"after kill {i}: {found}"
        if i % 4 == 3:  # whatever arrived goes, the partial file stays
            assert store_json(one, "gc")["kept"]["files"] == 4, f"after kill {i}"
    assert n_killed >= N_KILLS // 4, f"only {n_killed} of {N_KILLS} pulls were killed"
    subprocess.run(pull_command(one, "new"), check=True, stdout=subprocess.DEVNULL)
    save_record(one, "parts.json", {"v": 1, "active": new, "previous": old})
    found = store_json(one, "fsck")
    assert found["ok"] == 7 and found["bad"] + found["missing"] == 0, found
    usage = store_json(one, "usage")
    assert usage["parts"]["files"] == 0 and usage["total_bytes"] < 2.01 * BIG_BYTES, usage
    story.keep_figures(
        store_kills=n_killed, store_kills_with_part=n_with_part, store_pull_s=round(whole_s, 3)
    )
    print(f"   {n_killed} of {N_KILLS} pulls killed, {n_with_part} left a partial file")
    shutil.rmtree(one.root)


def quota_of_the_config_holds():
    one = node("quota")
    big_artifact(one.path("registry"), 3, "big")
    one.write_config("store: {quota: 20MiB}\n")
    done = one.ctl("pull", f"oci:{one.path('registry')}:big")
    assert done.returncode != 0 and "quota of 20971520 bytes" in done.stderr + done.stdout, done
    assert not glob.glob(lib(one, "tmp/*")), "something was written nevertheless"
    one.write_config("store: {quota: 1GiB, reserve: 1TiB}\n")
    done = one.ctl("pull", f"oci:{one.path('registry')}:big")
    assert done.returncode != 0 and "in reserve" in done.stderr + done.stdout, done
    one.write_config("store: {quota: 25MiB}\n")
    assert one.ctl("pull", f"oci:{one.path('registry')}:big").returncode == 0
    assert store_json(one, "usage")["quota_bytes"] == 25 << 20
    shutil.rmtree(one.root)


def damage_is_repaired():
    """A flipped bit and a lost file: found, moved aside, fetched from the model's repository."""
    one = node("repair")
    one.write_config(CONFIG.format(registry=one.path("registry")))
    digest = story.demo_bundle(one)["digest"]
    one.bundle(
        os.path.join(story.TOP, "demo/parts.onnx"), os.path.join(story.TOP, "demo/card.yaml")
    )
    assert one.ctl("pull", f"oci:{one.path('registry')}@{digest}").returncode == 0
    save_record(one, "parts.json", {"v": 1, "digest": digest})
    assert store_json(one, "fsck")["bad"] == 0
    blobs = sorted(glob.glob(lib(one, "blobs/sha256/*")), key=os.path.getsize)
    os.chmod(blobs[-1], 0o600)
    with open(blobs[-1], "r+b") as f:
        f.seek(1000)
        byte = f.read(1)
        f.seek(1000)
        f.write(bytes([byte[0] ^ 16]))
    os.unlink(blobs[0])
    found = store_json(one, "fsck", code=1)
    assert (found["bad"], found["missing"]) == (1, 2), found
    assert os.path.exists(lib(one, "blobs/bad", os.path.basename(blobs[-1])))
    text = one.ctl("store", "fsck")
    assert text.returncode == 1 and f"missing  {os.path.basename(blobs[0])}" in text.stdout, text
    found = store_json(one, "fsck", "--repair")
    assert found["missing"] == 2 and found["repaired"] == 2 and found["error"] is None, found
    found = store_json(one, "fsck")
    assert found["bad"] + found["missing"] == 0, found
    os.unlink(blobs[0])
    os.rename(one.path("registry"), one.path("elsewhere"))
    found = store_json(one, "fsck", "--repair", code=1)
    assert found["repaired"] == 0 and found["error"], found
    found = store_json(one, "fsck", "--repair", "--from", f"oci:{one.path('elsewhere')}:any")
    assert found["repaired"] == 1, found
    shutil.rmtree(one.root)


def cleaning_asks_the_records():
    one = node("gc")
    digest = story.demo_bundle(one)["digest"]
    registry = one.path("registry")
    assert one.ctl("pull", f"oci:{registry}:stable").returncode == 0
    other = one.ctl("store", "gc")
    assert other.returncode == 1 and "--all" in other.stderr, other
    save_record(one, "parts.json", {"v": 1, "digest": digest})
    n_blobs = store_json(one, "usage")["blobs"]["files"]
    big_artifact(registry, 4, "big")
    assert one.ctl("pull", f"oci:{registry}:big").returncode == 0
    engines = lib(one, "engines")
    os.makedirs(engines)
    built = one.ctl(
        *["engine", "build", os.path.join(story.TOP, "demo/parts.onnx"), "--opt", "0"],
        *["--card", os.path.join(story.TOP, "demo/card.yaml")],
        *["--out", os.path.join(engines, "kept.engine")],
    )
    assert built.returncode == 0, built.stderr
    with open(os.path.join(engines, "nobodys.engine"), "wb") as f:
        f.write(b"no engine")
    would = store_json(one, "gc", "--dry-run")
    did = store_json(one, "gc")
    assert would["removed"] == did["removed"], (would, did)
    assert did["removed"]["blobs"]["files"] == 4 and did["removed"]["engines"]["files"] == 1, did
    assert did["kept"]["files"] == n_blobs and os.listdir(engines) == ["kept.engine"], did
    assert store_json(one, "gc")["files"] == 0
    with open(lib(one, "state/parts.json"), "w", encoding="utf-8"):
        pass  # torn: nobody knows what it named
    torn = one.ctl("store", "gc", "--all")
    assert torn.returncode == 1 and "nothing was removed" in torn.stderr, torn
    assert store_json(one, "usage")["blobs"]["files"] == n_blobs
    missing = node("empty").ctl("store", "usage")
    assert missing.returncode == 1 and "there is no store" in missing.stderr, missing
    shutil.rmtree(one.root)


def running_picketd_keeps_its_store():
    """Nothing is cleaned behind its back; what it remembers is what a cleaning keeps."""
    one = node("daemon")
    one.write_config(CONFIG.format(registry=one.path("registry")))
    digest = story.demo_bundle(one)["digest"]
    one.start()
    try:
        one.wait_rung("parts", "engine")
        refused = one.ctl("store", "gc")
        assert refused.returncode == 1 and "picketd runs" in refused.stderr, refused
        assert store_json(one, "fsck")["bad"] == 0
        assert store_json(one, "usage")["roots"] >= 1
    finally:
        code = one.stop()
    assert code == 0, code
    kept = store_json(one, "gc")
    assert kept["removed"]["blobs"]["files"] == 0 and kept["kept"]["files"] >= 4, kept
    assert kept["removed"]["engines"]["files"] == 0, kept
    assert os.path.exists(lib(one, "blobs/sha256", digest[len("sha256:") :]))
    shutil.rmtree(one.root)


sys.exit(
    story.run(
        pulls_survive_kill,
        quota_of_the_config_holds,
        damage_is_repaired,
        cleaning_asks_the_records,
        running_picketd_keeps_its_store,
    )
)
