"""A real Chromium, spoken to by the W3C WebDriver protocol: plain HTTP to chromedriver, so that no package is needed."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Sandboxes and GPUs are not everywhere; the rest keeps Chromium itself from asking the network for anything.
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
TAB = "\ue004"


def missing() -> str | None:
    """Why no browser can be driven here; None where one can."""
    absent = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"no {' and no '.join(absent)} here: sh .ci/chromium.sh installs or names them" if absent else None


class Browser:
    """One session."""

    def __init__(self, base: str, session: str) -> None:
        self._root = f"{base}/session/{session}"

    def call(self, method: str, path: str, body: dict | None = None):
        return _ask(method, self._root + path, body)

    def open(self, url: str) -> None:
        self.call("POST", "/url", {"url": url})

    def run(self, script: str, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def cdp(self, command: str, **params):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def logs(self, kind: str) -> list[dict]:
        return self.call("POST", "/se/log", {"type": kind})

    def press(self, key: str) -> None:
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": keys}]})

    def look(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """A window of this size in CSS pixels (windows themselves have a least width), in one of the two schemes."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, target: Path) -> None:
        """The whole page as PNG."""
        taken = self.cdp("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        target.write_bytes(base64.b64decode(taken["data"]))


@contextmanager
def chromium(profile: Path, *flags: str) -> Iterator[Browser]:
    """A browser with an empty profile; it and its driver are ended in any case."""
    driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        lines = iter(driver.stdout.readline, "")
        port = next(int(found.group(1)) for line in lines if (found := re.search(r"started successfully on port (\d+)", line)))
        base = f"http://127.0.0.1:{port}"
        options = {"args": [*FLAGS, f"--user-data-dir={profile}", *flags], "binary": shutil.which("chromium")}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        session = _ask("POST", f"{base}/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        try:
            yield Browser(base, session)
        finally:
            _ask("DELETE", f"{base}/session/{session}")
    finally:
        driver.terminate()
        driver.wait(20)
        driver.stdout.close()


def _ask(method: str, url: str, body: dict | None = None):
    data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
    request = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": "application/json"})  # noqa: S310  # loopback
    # A proxy of the environment must not be asked for loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as reply:
        return json.loads(reply.read())["value"]
