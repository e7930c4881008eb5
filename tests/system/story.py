#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The product's story on a booted machine: scripts/test-system runs it there, a phase per boot."""

import errno
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import machine  # noqa: E402
import services  # noqa: E402
from machine import UNIT, check, journal, model, prop, sh  # noqa: E402
from machine import wait, wait_results, wait_rung  # noqa: E402

import story  # noqa: E402

CAMERA_PORT = "8554"
REGISTRY = "/srv/registry"
NAME = "models/parts"
CONFIG_FILE = "/etc/picket/picket.d/story.yaml"
DEMO = os.path.join(machine.TOP, "demo")
EVENTS = os.path.join(machine.TOP, "docs/EVENTS.md")

CONFIG = f"""runtime: {{chain: [cpu]}}
telemetry: {{interval: 1s}}
build: {{retry_min: 1s, retry_max: 3s}}
models:
  parts:
    artifact: oci:{REGISTRY}:stable
    poll: {{interval: 1s, jitter: 0, backoff_max: 2s}}
    check: {{observe: 4s, min_fps_ratio: 0.3, max_p95_ratio: 50}}
cameras:
  gate:
    source: {{kind: rtsp, uri: "rtsp://127.0.0.1:{CAMERA_PORT}/cam", latency: 50ms}}
    model: parts
    sinks: [results]
    stall: 2s
sinks:
  results: {{kind: jsonl, path: {machine.RESULTS}}}
"""


def message_id(event):
    with open(EVENTS, encoding="utf-8") as f:
        found = re.search(rf"^\| `{event}` \| `([0-9a-f]{{32}})`", f.read(), re.M)
    check(found, f"docs/EVENTS.md does not know {event}")
    return found.group(1)


def records(event, *arguments):
    return journal(f"MESSAGE_ID={message_id(event)}", *arguments)


def serves_from_registry():
    if not os.path.exists(CONFIG_FILE):
        return False
    with open(CONFIG_FILE, encoding="utf-8") as f:
        return services.REGISTRY in f.read()


def card(confidence):
    """A card whose only difference makes another artifact of the same model."""
    path = f"/tmp/card-{confidence}.yaml"
    with open(f"{DEMO}/card.yaml", encoding="utf-8") as f:
        text = f.read()
    machine.write(path, re.sub(r"(?m)^( *conf\w*:).*$", rf"\1 {confidence}", text, count=1))
    return path


def publish(confidence, onnx=f"{DEMO}/parts.onnx", golden=True, signed=True):
    """Moves the tag; the artifact's digest."""
    layout = f"oci:{REGISTRY}:stable"
    command = ["picketctl", "bundle", "create", "--onnx", onnx, "--card", card(confidence)]
    command += ["--golden", f"{DEMO}/golden"] if golden else []
    text = sh(*command, "--out", layout, "--json")
    if serves_from_registry():
        if signed:
            sh("picketctl", "bundle", "sign", layout, "--key", services.SIGNING_KEY)
        services.push(layout, f"{NAME}:stable")
    else:
        sh("chmod", "-R", "a+rX", REGISTRY)
    return re.search(r"sha256:[0-9a-f]{64}", text).group(0)


def start_camera():
    program = os.path.join(machine.OUT, "rtsp_server")
    sh("systemd-run", "--unit=camera", "--service-type=exec", program, CAMERA_PORT)


def wait_committed(digest, timeout=60):
    """The model of this digest is active and no longer on probation."""

    def reached():
        update = model().get("update") or {}
        active = (update.get("active") or {}).get("digest")
        return update.get("phase") == "idle" and active == digest

    wait(reached, timeout, f"{digest[:19]} active and at rest: {model().get('update')}")


def boots_clean():
    # The story is a job of the boot, so the system as a whole is `starting` as long as it runs.
    wait(lambda: prop("ActiveState", "multi-user.target") == "active", 30, "the boot")
    failed = sh("systemctl", "--failed", "--no-legend", "--plain").strip()
    check(not failed, f"failed units: {failed}")


def installed_package_is_active_and_ready():
    started = time.monotonic()
    machine.install(machine.deb("picket"))
    took = time.monotonic() - started
    check(prop("ActiveState") == "active" and prop("SubState") == "running", machine.evidence())
    check(prop("Type") == "notify", "the unit does not wait for READY")
    check(prop("UnitFileState") == "enabled", "not enabled")
    check(prop("StatusText"), "no status line")
    complaints = [r["MESSAGE"] for r in journal("_PID=1", f"UNIT={UNIT}", "-p", "warning")]
    check(not complaints, f"the service manager complains: {complaints}")
    check(machine.status()["cameras"] == [], "a camera without configuration")
    check(sh("picketctl", "status"), "picketctl says nothing")
    story.keep_figures(install_s=round(took, 2))


def runs_as_nobody_of_importance():
    pid = prop("MainPID")
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        text = f.read()
    fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    check(fields["Uid"].split()[0] != "0", "runs as root")
    check(int(fields["CapEff"], 16) == 0 and int(fields["CapBnd"], 16) == 0, "has capabilities")
    check(fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2", "not confined")
    check(prop("Slice") == "picket.slice", "not in its slice")
    rss_kib = int(fields["VmRSS"].split()[0])
    story.keep_figures(picketd_idle_rss_mib=round(rss_kib / 1024, 1))


def exposure_is_at_most_two():
    text = sh("systemd-analyze", "security", "--threshold=20", "--no-pager", UNIT)
    level = float(re.search(r"exposure level for \S+: ([0-9.]+)", text).group(1))
    check(level <= 2.0, f"exposure {level}\n{text}")
    story.keep_figures(exposure=level)


NODES = {"kmsg": (1, 11), "tty": (4, 0), "loop": (7, 0), "mem": (1, 1), "fuse": (10, 229)}


def service_is_denied_what_it_does_not_need():
    nodes = []
    for name, (major, minor) in NODES.items():
        nodes.append(f"/dev/probe-{name}")
        if not os.path.exists(nodes[-1]):
            os.mknod(nodes[-1], 0o666 | 0o020000, os.makedev(major, minor))
            os.chmod(nodes[-1], 0o666)
    sh("useradd", "--create-home", "alice")
    for path in (
        os.path.expanduser("~root/secret"),
        os.path.expanduser("~alice/secret"),
        "/var/lib/secret/file",
    ):
        machine.write(path, "x", 0o600)
    with open("/lib/systemd/system/picketd.service", encoding="utf-8") as f:
        unit = f.read()
    script = os.path.join(machine.TOP, "tests/system/probe.py")
    for pattern, by in (
        (r"(?m)^ExecStart=.*$", f"ExecStart=/usr/bin/python3 -B {script} {' '.join(nodes)}"),
        (r"(?m)^Type=notify$", "Type=oneshot"),
        (r"(?m)^(WatchdogSec|Restart|RestartSec|NotifyAccess|ExecReload)=.*$", ""),
        (r"(?m)^(RuntimeDirectory.*)$", ""),  # picketd's own, it runs beside
        (r"picket\.slice/picketd\.service", "picket.slice/picket-probe.service"),
    ):
        unit = re.sub(pattern, by, unit)
    machine.write("/run/systemd/system/picket-probe.service", unit)
    sh("systemctl", "daemon-reload")
    sh("systemctl", "start", "picket-probe.service", ok=False)
    lines = [r["MESSAGE"] for r in journal("_SYSTEMD_UNIT=picket-probe.service")]
    denied = [line for line in lines if line.startswith("denied ")]
    allowed = [line for line in lines if line.startswith(("ALLOWED", "UNEXPECTED"))]
    check(not allowed, f"{allowed}")
    check(any(line.startswith("needed: works") for line in lines), f"no end: {lines[-5:]}")
    check(len(denied) >= 30, f"only {len(denied)} denials: {lines}")
    story.keep_figures(denials=len(denied))
    sh("rm", "-f", "/run/systemd/system/picket-probe.service", "/var/lib/picket/probe-file")
    sh("systemctl", "daemon-reload")


def camera_is_served_from_an_engine_built_here():
    digest = publish(0.40)
    start_camera()
    machine.write(CONFIG_FILE, CONFIG)
    started = time.monotonic()
    sh("picketctl", "reload")
    found = wait_rung("engine", digest=digest)
    wait_results(10, digest=digest)
    check(machine.engines(), "no engine file")
    check(found["runtime"] == "cpu", f"{found}")
    story.keep_figures(config_to_engine_s=round(time.monotonic() - started, 2))


def journal_has_the_records():
    for event in ("started", "config-applied", "artifact-ready", "build-done", "serving", "camera"):
        found = records(event)
        check(found, f"no record of {event}")
        check(found[0]["_SYSTEMD_UNIT"] == UNIT, f"{event}: not of the unit: {found[0]}")
    done = records("build-done", "PICKET_KIND=tuned")[-1]
    check(done["PICKET_MODEL"] == "parts", f"{done}")
    check(int(done["PICKET_ELAPSED_MS"]) > 0, f"{done}")
    wait(
        lambda: float(records("camera-figures")[-1]["PICKET_FPS"]) > 0, 15, "a rate in the figures"
    )
    line = sh("systemctl", "status", UNIT, "--no-pager", "-n", "0")
    check("Status:" in line, line)


def moved_tag_is_updated_and_swapped():
    wait_committed(model()["digest"])
    before = model()["digest"]
    n_serving = len(records("serving"))
    started = time.monotonic()
    digest = publish(0.41)
    check(digest != before, "the tag did not move")
    wait_results(10, timeout=60, digest=digest)
    took = time.monotonic() - started
    swap = wait(lambda: records("serving")[n_serving:], 10, "a record of the swap")[-1]
    gap = float(swap.get("PICKET_GAP_MS", "0"))
    check(gap < 1000, f"pause of {gap} ms")
    wait_committed(digest)
    story.keep_figures(tag_to_results_s=round(took, 2), swap_gap_ms=gap)


REGISTRIES = f"""registries:
  {services.REGISTRY}:
    ca: {services.CA}
    user: {services.USER}
    password_file: credential:registry-password
"""
REGISTRY_CONFIG = REGISTRIES + CONFIG.replace(
    f"oci:{REGISTRY}:stable",
    f"{services.REGISTRY}/{NAME}:stable\n    signature: {{keys: [{services.PUBLIC_KEY}]}}",
)


def model_comes_from_a_tls_registry_with_a_password():
    services.make_registry()
    machine.write(CONFIG_FILE, REGISTRY_CONFIG)
    digest = publish(0.44)
    sh("systemctl", "restart", UNIT)  # a credential is handed over at the start
    found = wait_rung("engine", digest=digest)
    check(found["artifact"].startswith(services.REGISTRY), f"{found}")
    wait_results(5, digest=digest)
    verified = [r for r in records("verified") if r.get("PICKET_DIGEST", digest) == digest]
    check(verified, "no record of the signature")
    everything = sh("journalctl", "-o", "json", "--no-pager", "-u", UNIT)
    check(services.PASSWORD not in everything, "the password is in the journal")
    wait_committed(digest)


def unsigned_model_is_refused():
    digest = model()["digest"]
    publish(0.46, signed=False)
    wait(lambda: "no signature" in model()["update"]["reason"], 30, "the refusal")
    wait_results(5, digest=digest)
    check(model()["digest"] == digest, f"{model()}")


def garbage_is_refused():
    digest, n_rejected = model()["digest"], len(records("admit-rejected"))
    machine.write("/tmp/garbage.onnx", "this is no model" * 100)
    publish(0.47, onnx="/tmp/garbage.onnx", golden=False)
    wait(lambda: len(records("admit-rejected")) > n_rejected, 30, "the refusal")
    wait_results(5, digest=digest)


def model_that_crashes_on_probation_is_rolled_back():
    """The worker dies twice while a new model is on probation: once more than is let pass."""
    before, n_activated = model()["digest"], len(records("activated"))
    digest = publish(0.48)
    wait(lambda: len(records("activated")) > n_activated, 90, "the activation")
    for _ in range(2):
        pid = machine.pid_of_worker()
        os.kill(pid, signal.SIGKILL)
        wait(lambda: machine.pid_of_worker() != pid, 10, "another worker")
    wait(lambda: records("rolled-back"), 30, "the way back")
    wait_rung("engine", digest=before)
    wait_results(5, digest=before)
    check(records("quarantined"), "the bad model is not quarantined")
    time.sleep(3)  # the tag still names it: several looks pass
    check(model()["digest"] == before, f"taken again: {digest}")


def registry_down_costs_only_updates():
    digest = model()["digest"]
    services.stop_registry()
    n_failed = len(records("artifact-failed"))
    wait(lambda: len(records("artifact-failed")) > n_failed, 60, "a record of the failure")
    wait_results(5, digest=digest)
    sh("systemctl", "restart", UNIT)
    wait_results(5, digest=digest)
    services.start_registry()
    digest = publish(0.45)
    wait_rung("engine", digest=digest)
    wait_results(5, digest=digest)
    wait_committed(digest)


def results_reach_the_broker():
    with open(CONFIG_FILE, encoding="utf-8") as f:
        text = f.read()
    text = text.replace("sinks: [results]", "sinks: [results, broker]")
    machine.write(CONFIG_FILE, text + "  broker: {kind: mqtt, host: localhost}\n")
    sh("systemctl", "restart", "mosquitto.service")
    sh("picketctl", "reload")
    found = services.mqtt_messages(20)
    lines = [json.loads(text) for _topic, text in found if '"detections"' in text]
    check(lines and lines[-1]["camera"] == "gate", f"{found[:5]}")
    check(lines[-1]["rung"] == "engine", f"{lines[-1]}")


def killed_worker_is_back_within_3_s():
    pid = machine.pid_of_worker()
    os.kill(pid, signal.SIGKILL)
    started = time.monotonic()
    wait(lambda: machine.pid_of_worker() != pid, 5, "another worker")
    wait_results(5, timeout=10)
    took = time.monotonic() - started
    check(took <= 3, f"results after {took:.2f} s")
    check(prop("NRestarts") == "0", "the service was restarted too")
    story.keep_figures(worker_kill_to_results_s=round(took, 2))


def hung_daemon_is_restarted_by_the_watchdog():
    machine.write("/run/systemd/system/picketd.service.d/w.conf", "[Service]\nWatchdogSec=2\n")
    sh("systemctl", "daemon-reload")
    sh("systemctl", "restart", UNIT)
    wait_results(3)
    pid = int(prop("MainPID"))
    os.kill(pid, signal.SIGSTOP)
    started = time.monotonic()
    wait(lambda: prop("NRestarts") == "1", 20, "the restart")
    wait_results(3, timeout=20)
    took = time.monotonic() - started
    ended = journal(f"UNIT={UNIT}", "UNIT_RESULT=watchdog")
    check(ended, "the journal does not blame the watchdog")
    check(int(prop("MainPID")) != pid, "still the hung process")
    os.unlink("/run/systemd/system/picketd.service.d/w.conf")
    sh("systemctl", "daemon-reload")
    sh("systemctl", "restart", UNIT)
    wait_results(3)
    story.keep_figures(watchdog_to_results_s=round(took, 2))


def lost_camera_comes_back():
    sh("systemctl", "kill", "-s", "KILL", "camera.service")
    wait(lambda: machine.status()["cameras"][0]["state"] == "retrying", 15, "the loss to be seen")
    sh("systemctl", "reset-failed", "camera.service", ok=False)
    start_camera()
    wait_results(5, timeout=30)


def fill(path):
    """Takes all the room there is."""
    with open(path, "wb", buffering=0) as f:
        try:
            while f.write(bytes(1 << 16)):
                pass
        except OSError as error:
            check(error.errno == errno.ENOSPC, str(error))


def full_disk_told(since):
    found = journal("-u", UNIT, "-p", "warning", "--since", since)
    return [r for r in found if re.search(r"\b(room|space)\b", str(r.get("MESSAGE")))]


def full_disk_costs_only_the_update():
    """The state on a small disk of its own, which fills up."""
    before = model()["digest"]
    sh("systemctl", "stop", UNIT)
    sh("mount", "-t", "tmpfs", "-o", "size=256m,mode=0750", "tmpfs", machine.STATE)
    sh("chown", "picket:picket", machine.STATE)
    sh("systemctl", "start", UNIT)
    wait_rung("engine", digest=before)
    wait_results(5, digest=before)
    started = f"@{int(time.time())}"
    fill(f"{machine.STATE}/filler")
    digest = publish(0.42)
    wait(lambda: full_disk_told(started), 30, "a word about the disk")
    check(model()["rung"] == "engine", f"{model()}")
    check(prop("ActiveState") == "active", "not active")
    os.unlink(f"{machine.STATE}/filler")
    wait_rung("engine", digest=digest, timeout=90)
    wait_results(5, digest=digest)
    sh("systemctl", "stop", UNIT)
    sh("umount", machine.STATE)
    sh("systemctl", "start", UNIT)
    wait_rung("engine", digest=digest)


DRIVER = """Package: fake-cudnn
Version: {}
Architecture: all
Maintainer: none <none@none.invalid>
Description: stands for a library that engines depend on
"""


def replaced_driver_library_makes_picketd_look_again():
    before = len(records("config-applied"))
    pid = prop("MainPID")
    folder = "/tmp/fake-cudnn"
    machine.write(f"{folder}/usr/lib/x86_64-linux-gnu/libcudnn.so.9", "another one")
    machine.write(f"{folder}/DEBIAN/control", DRIVER.format(2))
    sh("dpkg-deb", "-b", folder, "/tmp/fake-cudnn.deb")
    text = machine.install("/tmp/fake-cudnn.deb")
    check("Processing triggers for picket" in text, text)
    wait(lambda: len(records("config-applied")) > before, 10, "the look at the runtimes")
    check(prop("MainPID") == pid, "picketd was restarted")
    wait_results(5)
    sh("dpkg", "-P", "fake-cudnn")


def update_until_killed():
    """The last test of its boot: the machine goes down in the middle of an update's build."""
    sh("sh", "-c", f"rm -rf {machine.STATE}/timing/*")  # a build that takes its time
    n_started = len(records("build-started"))
    text = model()["digest"] + " " + publish(0.43)
    wait(lambda: len(records("build-started")) > n_started, 30, "the build")
    sh("journalctl", "--sync")
    machine.write(f"{machine.OUT}/digests", text)
    machine.write(f"{machine.OUT}/kill-me", "now")
    time.sleep(60)
    raise AssertionError("nobody killed the machine")


def comes_up_alone_after_the_power_cut():
    with open(f"{machine.OUT}/digests", encoding="utf-8") as f:
        _before, digest = f.read().split()
    start_camera()
    if serves_from_registry():
        services.start_registry()
    wait(lambda: machine.status() is not None, 20, "picketd")
    wait_rung("engine", digest=digest)
    wait_results(10, digest=digest)
    check(not records("state-ignored"), "a state file was damaged")
    took = int(prop("ActiveEnterTimestampMonotonic")) - int(prop("InactiveExitTimestampMonotonic"))
    story.keep_figures(start_to_ready_ms=round(took / 1000))


def upgrade_keeps_state():
    digest, before = model()["digest"], machine.engines()
    n_built = len(records("build-done"))
    machine.write("/etc/picket/keys/story.pem", "a key\n")
    with open("/etc/picket/picket.yaml", "a", encoding="utf-8") as f:
        f.write("node: {name: changed-by-hand}\n")
    old = machine.version()
    newer = machine.repack(machine.deb("picket"), old + "+1")
    started = time.monotonic()
    machine.install(newer)
    wait_rung("engine", digest=digest)
    wait_results(5, digest=digest)
    took = time.monotonic() - started
    check(machine.version() == old + "+1", machine.version())
    check(machine.engines() == before, "engines were built again")
    check(len(records("build-done")) == n_built, "a build ran")
    check(os.path.exists("/etc/picket/keys/story.pem"), "the key is gone")
    check("changed-by-hand" in sh("cat", "/etc/picket/picket.yaml"), "the config was replaced")
    story.keep_figures(upgrade_to_results_s=round(took, 2))


DROP_INS = "/usr/share/picket/drop-ins"
OWN_DROP_INS = "/etc/systemd/system/picketd.service.d"


def drop_ins_do_what_they_say():
    """Each on its own: the service starts with it, and serves."""
    os.makedirs(OWN_DROP_INS, exist_ok=True)
    if not os.path.exists(services.SECRET):
        machine.write(services.SECRET, "secret", 0o600)
    names = sorted(os.listdir(DROP_INS))
    check(len(names) >= 5, f"{names}")
    for name in names:
        if os.path.exists(f"{OWN_DROP_INS}/{name}"):
            continue  # in use since the registry
        os.symlink(f"{DROP_INS}/{name}", f"{OWN_DROP_INS}/{name}")
        sh("systemctl", "daemon-reload")
        sh("systemctl", "restart", UNIT, ok=False)
        check(prop("ActiveState") == "active", f"{name}: {machine.evidence()}")
        wait_results(2)
        if name == "credentials.conf":
            path = f"/run/credentials/{UNIT}/registry-password"
            check(sh("cat", path) == sh("cat", services.SECRET), "no credential")
        os.unlink(f"{OWN_DROP_INS}/{name}")
    sh("systemctl", "daemon-reload")
    sh("systemctl", "restart", UNIT)
    wait_results(2)


def downgrade_works():
    digest = model()["digest"]
    text = machine.install(machine.deb("picket"))
    check("downgrading" in text, text)
    wait_rung("engine", digest=digest)
    wait_results(5, digest=digest)


def autopkgtest_passes():
    """debian/tests as autopkgtest would run them: packages installed, each test's exit code."""
    machine.install(machine.deb("picket-dev"), machine.deb("picket-demo"))
    sh("rm", "-f", CONFIG_FILE)
    sh("picketctl", "reload")
    folder = os.path.join(machine.TOP, "packaging/debian/tests")
    with open(f"{folder}/control", encoding="utf-8") as f:
        names = re.findall(r"^Tests: (.*)$", f.read(), re.M)
    check(names, "no tests in debian/tests/control")
    for name in names:
        os.makedirs(f"/tmp/adt-{name}", exist_ok=True)
        env = {**os.environ, "AUTOPKGTEST_TMP": f"/tmp/adt-{name}"}
        done = subprocess.run(
            [f"{folder}/{name}"],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        check(done.returncode == 0, f"{name}: {done.returncode} {done.stdout} {done.stderr}")


def removal_keeps_state_and_purge_leaves_nothing():
    sh("rm", "-rf", OWN_DROP_INS)
    sh("dpkg", "-P", "picket-demo", "picket-dev")
    sh("dpkg", "-r", "picket")
    check(prop("ActiveState") == "inactive", "runs without its package")
    check(os.path.isdir(f"{machine.STATE}/blobs"), "removal took the state")
    check(not glob.glob("/usr/libexec/picket/*"), "programs are left")
    sh("dpkg", "-P", "picket")
    left = sh("find", "/", "-xdev", "-iname", "*picket*", "-not", "-path", "/proc/*")
    ours = ("/out", machine.TOP, "/tmp/", "/var/tmp/")
    left = [path for path in left.splitlines() if not path.startswith(ours)]
    check(not left, f"left behind: {left}")
    users = sh("cat", "/etc/passwd", "/etc/group")
    check("picket" not in users, "the user is left")
    check(prop("LoadState") == "not-found", "the unit is left")


V4L2_CONFIG = CONFIG.replace(
    f"""{{kind: rtsp, uri: "rtsp://127.0.0.1:{CAMERA_PORT}/cam", latency: 50ms}}""",
    """{kind: gst, launch: "v4l2src device=/dev/video0 ! video/x-raw,width=640,height=360"}""",
)

ONLY_V4L2 = """[Service]
DeviceAllow=
DeviceAllow=char-video4linux rw
"""


def package_installs_in_the_machine():
    """Without plugins for compressed video: the machine unpacks its root into memory."""
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    sh("dpkg", "--force-depends", "-i", machine.deb("picket"), env=env, timeout=300)
    check(prop("ActiveState") == "active", machine.evidence())


def v4l2_camera_is_served_with_no_other_device():
    machine.write("/etc/systemd/system/picketd.service.d/only-v4l2.conf", ONLY_V4L2)
    sh("systemctl", "daemon-reload")
    sh("modprobe", "vivid", "n_devs=1")
    wait(lambda: os.path.exists("/dev/video0"), 30, "the camera's node")
    sh("chgrp", "video", "/dev/video0")
    digest = publish(0.40)
    machine.write(CONFIG_FILE, V4L2_CONFIG)
    sh("systemctl", "restart", UNIT)
    wait_results(3, timeout=120, rung="building", digest=digest)
    wait_rung("engine", digest=digest, timeout=240)
    wait_results(5, timeout=60, digest=digest)
    line = machine.results()[-1]
    check((line["width"], line["height"]) == (640, 360), f"picture {line}")
    allowed = prop("DeviceAllow")
    check("nvmap" not in allowed and "video4linux" in allowed, allowed)


BUILD_GROUP = "/sys/fs/cgroup/picket.slice/picketd.service/build"


def builder_out_of_memory_leaves_video_alone():
    """The kernel kills the builder in its own group; worker and results go on."""
    worker, n_started = machine.pid_of_worker(), len(records("build-started"))
    before, digest = model()["digest"], publish(0.41)
    wait(lambda: len(records("build-started")) > n_started, 60, "the build")
    with open(f"{BUILD_GROUP}/memory.max", "w", encoding="ascii") as f:
        f.write("4M")
    wait(lambda: "memory" in built_badly(), 60, "a record of what the builder died of")
    with open(f"{BUILD_GROUP}/memory.events", encoding="ascii") as f:
        events = dict(line.split() for line in f)
    check(int(events["oom_kill"]) > 0, f"{events}")
    wait_results(3, timeout=60, digest=before)
    check(machine.pid_of_worker() == worker, "the worker went too")
    check(prop("NRestarts") == "0", "the service was restarted")
    wait_rung("engine", digest=digest, timeout=240)  # tried again, and with room enough
    wait_results(3, timeout=60, digest=digest)


def built_badly():
    """What became of failed builds, in words."""
    found = records("build-failed") + records("build-cheaper")
    return " ".join(str(r.get("MESSAGE")) for r in found)


PHASES = {
    "vm": [
        boots_clean,
        package_installs_in_the_machine,
        exposure_is_at_most_two,
        v4l2_camera_is_served_with_no_other_device,
        builder_out_of_memory_leaves_video_alone,
    ],
    "first": [
        boots_clean,
        installed_package_is_active_and_ready,
        runs_as_nobody_of_importance,
        exposure_is_at_most_two,
        service_is_denied_what_it_does_not_need,
        camera_is_served_from_an_engine_built_here,
        journal_has_the_records,
        moved_tag_is_updated_and_swapped,
        model_comes_from_a_tls_registry_with_a_password,
        unsigned_model_is_refused,
        garbage_is_refused,
        model_that_crashes_on_probation_is_rolled_back,
        registry_down_costs_only_updates,
        results_reach_the_broker,
        killed_worker_is_back_within_3_s,
        hung_daemon_is_restarted_by_the_watchdog,
        lost_camera_comes_back,
        full_disk_costs_only_the_update,
        replaced_driver_library_makes_picketd_look_again,
        update_until_killed,
    ],
    "second": [
        boots_clean,
        comes_up_alone_after_the_power_cut,
        upgrade_keeps_state,
        drop_ins_do_what_they_say,
        downgrade_works,
        autopkgtest_passes,
        removal_keeps_state_and_purge_leaves_nothing,
    ],
}

sys.exit(story.run(*PHASES[sys.argv[1]]))
