"""`chela service` with a systemctl that records what it is asked, and what the engine tells its service manager."""

import shutil
import socket
import subprocess

import pytest

SYSTEMCTL = """#!/bin/sh
echo "$*" >> "{calls}"
case "$*" in
  *is-active*) cat "{state}"; grep -qx active "{state}" ;;
  *is-enabled*) echo enabled ;;
esac
{more}
"""


class Systemd:
    def __init__(self, engine, folder, more=""):
        self.engine, self.calls, self.state = engine, folder / "calls", folder / "state"
        self.state.write_text("inactive\n")
        self.calls.write_text("")
        program = folder / "bin" / "systemctl"
        program.parent.mkdir(exist_ok=True)
        program.write_text(SYSTEMCTL.format(calls=self.calls, state=self.state, more=more))
        program.chmod(0o755)
        self.path = f"{program.parent}:/usr/bin:/bin"
        self.unit = engine.home / ".config/systemd/user/chela.service"

    def chela(self, *args):
        return self.engine.cli("service", *args, env={"PATH": self.path})

    def asked(self):
        lines = self.calls.read_text().splitlines()
        self.calls.write_text("")
        return lines


@pytest.fixture
def systemd(own_engine, tmp_path):
    return Systemd(own_engine, tmp_path)


def test_install_start_status_stop_uninstall(systemd):
    assert systemd.chela("start")[0] == 5 and systemd.chela("status")[0] == 5
    assert systemd.asked() == []
    code, out, err = systemd.chela("install")
    assert (code, err) == (0, "") and str(systemd.unit) in out
    assert systemd.asked() == ["--user daemon-reload", "--user enable chela.service"]
    text = systemd.unit.read_text()
    assert f'ExecStart="{systemd.engine.program.resolve()}" run --headless --no-onboard --home "{systemd.engine.home}"' in text
    assert systemd.chela("install")[0] == 0  # again
    assert systemd.chela("print") == (0, text, "")
    systemd.asked()
    assert systemd.chela("start") == (0, "started\n", "") and systemd.asked() == ["--user start chela.service"]
    code, out, _ = systemd.chela("status")
    assert code == 8 and out.startswith("inactive, enabled: ")
    systemd.state.write_text("active\n")
    assert systemd.chela("status")[0] == 0
    systemd.asked()
    assert systemd.chela("stop") == (0, "stopped\n", "") and systemd.asked() == ["--user stop chela.service"]
    assert systemd.chela("uninstall")[0] == 0
    assert systemd.asked() == ["--user disable --now chela.service", "--user daemon-reload"]
    assert not systemd.unit.exists() and systemd.engine.home.exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_the_unit_is_one(systemd, tmp_path):
    assert systemd.chela("install")[0] == 0
    unit = tmp_path / "chela.service"
    unit.write_text(systemd.unit.read_text())
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "chela.service" not in done.stderr, done.stderr


def test_what_systemd_refuses_is_said(own_engine, tmp_path):
    gone = Systemd(own_engine, tmp_path, 'echo "Failed to connect to bus: No medium found" >&2; exit 1')
    code, _, err = gone.chela("install")
    assert code == 8 and "enable-linger" in err and "--system" in err
    broken = Systemd(own_engine, tmp_path, 'echo "Unit is masked" >&2; exit 3')
    code, _, err = broken.chela("start")
    assert code == 1 and "Unit is masked" in err and "journalctl --user" in err
    endless = Systemd(own_engine, tmp_path, "yes")
    code, _, err = endless.chela("start")
    assert code == 2 and "wrote more than" in err


def test_no_systemd_is_said(own_engine, tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "setpriv").symlink_to(shutil.which("setpriv"))
    code, _, err = own_engine.cli("service", "install", env={"PATH": str(folder)})
    assert code == 2 and "systemctl is missing" in err


def test_the_engine_tells_its_manager(own_engine, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        own_engine.env["NOTIFY_SOCKET"] = str(tmp_path / "notify")
        own_engine.start()
        ready = manager.recv(4096).decode().splitlines()
        assert ready[0] == "READY=1" and ready[1] == f"MAINPID={own_engine.pid}" and str(own_engine.port) in ready[2]
        assert own_engine.stop() == 0
        assert manager.recv(4096) == b"STOPPING=1"
