# SPDX-License-Identifier: Apache-2.0
"""The peer: the same job the usual way, OpenCV capture + NumPy + ONNX Runtime. One JSON at the end.

usual_pipeline.py CLIP MODEL SECONDS [live]: plays the clip at its own rate (live: a frame is not
even decoded before it is due); a frame that is late is not waited for, so that a program that
cannot keep up falls behind, as such programs do."""

import json
import os
import resource
import sys
import time

import cv2
import numpy as np
import onnxruntime as ort

RATE = 30.0
SIDE = 256


def letterbox(picture):
    h, w = picture.shape[:2]
    r = min(SIDE / h, SIDE / w)
    nh, nw = round(h * r), round(w * r)
    out = np.zeros((SIDE, SIDE, 3), np.uint8)
    top, left = (SIDE - nh) // 2, (SIDE - nw) // 2
    out[top : top + nh, left : left + nw] = cv2.resize(picture, (nw, nh))
    return out


def main(clip, model, seconds, live):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    capture = cv2.VideoCapture(clip)
    ages, n, warm = [], 0, 30
    start = cpu = None
    begun = time.monotonic()
    while True:
        if live and (now := time.monotonic()) < begun + n / RATE:
            time.sleep(begun + n / RATE - now)
        ok, picture = capture.read()
        if not ok:
            capture.set(cv2.CAP_PROP_POS_FRAMES, 0)
            continue
        due = begun + n / RATE
        now = time.monotonic()
        if now < due:
            time.sleep(due - now)
        pixels = cv2.cvtColor(letterbox(picture), cv2.COLOR_BGR2RGB)
        tensor = (pixels.astype(np.float32) * (2 / 255) - 1)[None]
        outputs = session.run(None, {name: tensor})
        scores = 1 / (1 + np.exp(-np.clip(outputs[0], -80, 80)))
        json.dumps({"frame": n, "faces": int((scores > 0.5).sum())})
        n += 1
        if n == warm:
            usage = resource.getrusage(resource.RUSAGE_SELF)
            start, cpu = time.monotonic(), usage.ru_utime + usage.ru_stime
        elif n > warm:
            ages.append(time.monotonic() - due)
            if time.monotonic() - start >= seconds:
                break
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "frames": len(ages),
                "cpu_ms": 1000 * (usage.ru_utime + usage.ru_stime - cpu) / len(ages),
                "age_p50_ms": 1000 * float(np.percentile(ages, 50)),
                "age_p99_ms": 1000 * float(np.percentile(ages, 99)),
                "rss_mib": usage.ru_maxrss / 1024,
                "fps": len(ages) / (time.monotonic() - start),
            }
        )
    )


os.environ.setdefault("OMP_NUM_THREADS", "1")
main(sys.argv[1], sys.argv[2], float(sys.argv[3]), "live" in sys.argv[4:])
