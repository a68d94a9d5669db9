"""The packages in a Debian that has nothing but what they depend on: no sources, no compiler, no build tree.

The roots are made by debootstrap from this machine's own Debian mirror and kept in the cache folder for as long as the dependencies
stay the same. Entering them needs root.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest

from support import ScriptedModel
from support.process import ROOT, Process
from support.waiting import wait_until

CACHE = Path(os.environ.get("CHELA_CACHE", Path.home() / ".cache" / "chela"))
HOME = "/srv/chela"
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "CHELA_HOME": HOME}

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("debootstrap") is None, reason="needs root and debootstrap")


def package(folder):
    subprocess.run([ROOT / "scripts/package.sh", folder], check=True)
    return {each.suffix: each for each in Path(folder).iterdir()}


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    return package(tmp_path_factory.mktemp("packages"))


def field(deb, name):
    return subprocess.run(["dpkg-deb", "-f", deb, name], capture_output=True, text=True, check=True).stdout.strip()


def mirror():
    """Where this machine gets its Debian packages."""
    for file in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        found = re.search(r"^(?:URIs:|deb)\s+(?:\[.*?\]\s+)?(\S+/debian)/?(?:\s|$)", file.read_text() if file.is_file() else "", re.MULTILINE)
        if found:
            return found.group(1)
    pytest.skip("no Debian mirror is configured")


def bare_root(depends):
    """A minimal Debian with these packages and what they need themselves, as a tar file."""
    names = sorted({re.split(r"[\s(|]", each.strip())[0] for each in depends.split(",")})
    release = re.search(r"VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text()).group(1)
    key = hashlib.sha256(" ".join([release, *names]).encode()).hexdigest()[:12]
    kept = CACHE / f"debian-root-{key}.tar"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        made = kept.with_suffix(f".{os.getpid()}")
        subprocess.run(["debootstrap", "--variant=minbase", release, made, mirror()], check=True)
        shutil.copy("/etc/resolv.conf", made / "etc/resolv.conf")
        code, out, err = Machine(made).run("apt-get", "install", "--yes", "--no-install-recommends", *names,
                                           env={"DEBIAN_FRONTEND": "noninteractive"})
        assert code == 0, out + err
        shutil.rmtree(made / "var/cache/apt", ignore_errors=True)
        part = kept.with_suffix(f".tar.{os.getpid()}")
        subprocess.run(["tar", "-cf", part, "--exclude=./dev/*", "-C", made, "."], check=True)
        part.replace(kept)
        shutil.rmtree(made)
    return kept


class Machine:
    """A root of its own, with /proc and the machine's network."""

    def __init__(self, root):
        self.root = Path(root)
        for name in ("null", "zero", "urandom", "random", "tty"):
            if (self.root / "dev" / name).exists():
                continue
            kept = os.stat(f"/dev/{name}")
            os.mknod(self.root / "dev" / name, kept.st_mode, kept.st_rdev)
            os.chmod(self.root / "dev" / name, 0o666)
        (self.root / "dev/shm").mkdir(exist_ok=True)

    def command(self, *args):
        # A mount namespace of its own: /proc goes with the last process in it.
        enter = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", enter, str(self.root), *map(str, args)]

    def run(self, *args, env=None, stdin=""):
        done = subprocess.run(self.command(*args), env={**ENVIRONMENT, **(env or {})}, input=stdin, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr


def machine(packages, folder):
    kept = bare_root(field(packages[".deb"], "Depends"))
    root = folder / "root"
    root.mkdir()
    subprocess.run(["tar", "-xf", kept, "-C", root], check=True)
    return Machine(root)


@pytest.fixture(params=["deb", "tarball"])
def installed(request, packages, tmp_path):
    """(machine, path of the program)"""
    made = machine(packages, tmp_path)
    if request.param == "deb":
        shutil.copy(packages[".deb"], made.root / "chela.deb")
        code, _, err = made.run("dpkg", "--install", "/chela.deb")
        assert code == 0, err
        return made, "/usr/bin/chela"
    with tarfile.open(packages[".gz"]) as archive:
        archive.extractall(made.root / "opt", filter="tar")
    folder = next((made.root / "opt").glob("chela-*"))
    return made, f"/opt/{folder.name}/bin/chela"


def test_it_works_on_a_machine_without_the_sources(installed, tmp_path):
    made, program = installed
    assert made.run(program, "--version")[1].startswith("chela ")
    with ScriptedModel() as model:
        env = {"LLM_BACKEND": "openai_compatible", "LLM_MODEL": "scripted", "LLM_API_KEY": "k", "CHELA_GATEWAY_PORT": "0",
               "LLM_BASE_URL": f"http://127.0.0.1:{model.port}/v1"}
        code, out, err = made.run(program, "doctor", "--json", env=env)
        report = json.loads(out)
        assert code == 0, (report, err)
        assert {each["name"]: each["verdict"] for each in report["checks"]}["data"] == "pass"
        code, out, err = made.run(program, "run", "-m", "hello there", env=env)
        assert code == 0 and out.endswith("hello there\n"), err
        engine = Process(made.command(program, "run", "--headless"), {**ENVIRONMENT, **env}, tmp_path / "out", tmp_path / "err")
        try:
            file = made.root / HOME.lstrip("/") / "run/engine.json"
            wait_until(lambda: file.exists() or not engine.running(), "the engine starts")
            code, out, _ = made.run(program, "status", "--json", env=env)
            assert code == 0 and json.loads(out)["running"] is True, (tmp_path / "err").read_text()
            assert made.run(program, "run", "-m", "again", env=env)[1].endswith("again\n")
        finally:
            assert engine.end(signal.SIGTERM) == 0


def test_the_debian_package_is_complete_and_harmless(packages):
    deb = packages[".deb"]
    depends = field(deb, "Depends")
    for name in ("libc6", "libspdlog1.10", "libfmt9", "libcurl4"):
        assert re.search(rf"\b{name}\b", depends), depends
    control = subprocess.run(["dpkg-deb", "--ctrl-tarfile", deb], capture_output=True, check=True).stdout
    listed = subprocess.run(["tar", "-t"], input=control, capture_output=True, check=True).stdout.decode().split()
    assert set(listed) <= {"./", "./control", "./md5sums"}  # nothing runs at its installation
    contents = subprocess.run(["dpkg-deb", "--contents", deb], capture_output=True, text=True, check=True).stdout
    for path in ("./usr/bin/chela", "./usr/bin/chela-infer", "./usr/bin/chela-guard", "./usr/share/chela/models.toml",
                 "./usr/lib/systemd/user/chela.service", "./usr/share/doc/chela/copyright"):
        assert re.search(rf" {re.escape(path)}$", contents, re.MULTILINE), path
    assert all(line.split()[1] == "root/root" for line in contents.splitlines())


def test_the_programs_are_stripped_and_name_no_folder_of_the_build(packages, tmp_path):
    with tarfile.open(packages[".gz"]) as archive:
        archive.extractall(tmp_path, filter="tar")
    folder = next(tmp_path.glob("chela-*"))
    assert {each.name for each in folder.iterdir()} == {"bin", "share", "lib", "LICENSE", "README.md"}
    for program in (folder / "bin").iterdir():
        sections = subprocess.run(["readelf", "-S", "-W", program], capture_output=True, text=True, check=True).stdout
        assert ".symtab" not in sections and ".debug" not in sections, program
        assert str(ROOT).encode() not in program.read_bytes(), program
    unit = (folder / "lib/systemd/user/chela.service").read_text()
    assert "ExecStart=/usr/local/bin/chela run --headless" in unit and "NoNewPrivileges=yes" in unit and str(ROOT) not in unit


def test_the_same_build_is_the_same_package(packages, tmp_path):
    again = package(tmp_path / "again")
    for suffix, file in packages.items():
        assert hashlib.sha256(file.read_bytes()).digest() == hashlib.sha256(again[suffix].read_bytes()).digest(), suffix
