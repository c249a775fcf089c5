#!/usr/bin/env python3
"""data_prep/fetch.sh against a server on this machine: whole, resumed, wrong, absent, unreachable.

  test_fetch.py FETCH_SH

The script's known sums are replaced by those of small files made here.
"""

import hashlib
import http.server
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

SCRIPT = pathlib.Path(sys.argv.pop(1)).resolve()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves server.files; understands "Range: bytes=N-" unless server.ranges is off; breaks off at server.limit."""

    def do_GET(self):
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        begin = 0
        wanted = self.headers.get("Range")
        self.server.requests.append((self.path, wanted))
        if wanted and self.server.ranges:
            begin = int(wanted.removeprefix("bytes=").rstrip("-"))
            if begin >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        end = len(content) if self.server.limit is None else begin + self.server.limit
        self.wfile.write(content[begin:end])

    def log_message(self, *_):
        pass


def archive(folder):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for part in ("train", "valid", "test"):
            file.writestr(f"{folder}/wiki.{part}.raw", f" \n = {part} = \n \n" + part * 20000)
    return buffer.getvalue()


class Fetch(unittest.TestCase):
    tools = "curl"

    def setUp(self):
        if shutil.which(self.tools) is None:
            self.skipTest(f"{self.tools} is not installed")
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.files = {"/vocab.json": os.urandom(200_000), "/merges.txt": b"#version: 0.2\n",
                             "/wikitext-2-raw-v1.zip": archive("wikitext-2-raw")}
        self.server.ranges, self.server.limit, self.server.requests = True, None, []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        text = SCRIPT.read_text()
        for path, content in self.server.files.items():
            name = path[1:]
            before, after = text.split(name + " ", 1)
            text = before + name + " " + hashlib.sha256(content).hexdigest() + after[64:]
        self.script = self.folder / "fetch.sh"
        self.script.write_text(text)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for tool in [self.tools, "bash", "sed", "sha256sum", "cut", "wc", "tr", "mktemp", "rm", "mv", "mkdir", "cat",
                     "grep", "python3"]:
            path = sys.executable if tool == "python3" else shutil.which(tool)
            (self.bin / tool).symlink_to(path)

    def run_script(self, what="gpt2-tokenizer", *more, url=None):
        url = url or f"http://127.0.0.1:{self.server.server_address[1]}"
        return subprocess.run(["bash", self.script, what, "--output", self.folder / "out", "--base-url", url, *more],
                              capture_output=True, text=True, timeout=60,
                              env={"PATH": str(self.bin), "no_proxy": "*", "TMPDIR": str(self.folder)})

    def content(self, name):
        return (self.folder / "out" / name).read_bytes()

    def names(self):
        return sorted(path.name for path in (self.folder / "out").iterdir())

    def test_whole_and_again(self):
        first = self.run_script()
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(self.content("vocab.json"), self.server.files["/vocab.json"])
        self.assertEqual(self.names(), ["merges.txt", "vocab.json"])
        self.server.requests.clear()
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual(self.server.requests, [])

    def test_wikitext_is_unpacked(self):
        done = self.run_script("wikitext-2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.names(), ["wiki.test.raw", "wiki.train.raw", "wiki.valid.raw", "wikitext-2-raw-v1.zip"])
        self.assertTrue(self.content("wiki.train.raw").startswith(b" \n = train = \n"))

    def test_goes_on_where_it_broke_off(self):
        self.server.limit = 70_000
        broken = self.run_script()
        self.assertEqual(broken.returncode, 1, broken.stderr)
        self.assertEqual(self.names(), ["vocab.json.part"])
        self.assertGreater(len(self.content("vocab.json.part")), 0)
        self.assertIn("again", broken.stderr)
        kept = len(self.content("vocab.json.part"))
        self.server.limit = None
        self.server.requests.clear()
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.server.requests[0], ("/vocab.json", f"bytes={kept}-"))
        self.assertEqual(self.content("vocab.json"), self.server.files["/vocab.json"])

    def test_server_without_ranges(self):
        (self.folder / "out").mkdir()
        (self.folder / "out/vocab.json.part").write_bytes(self.server.files["/vocab.json"][:1000])
        self.server.ranges = False
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.content("vocab.json"), self.server.files["/vocab.json"])

    def test_part_that_is_whole(self):
        (self.folder / "out").mkdir()
        (self.folder / "out/vocab.json.part").write_bytes(self.server.files["/vocab.json"])
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.content("vocab.json"), self.server.files["/vocab.json"])

    def test_wrong_sum(self):
        self.server.files["/vocab.json"] = b"something else"
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("SHA-256", done.stderr)
        self.assertEqual(self.names(), ["vocab.json.part.wrong"])
        (self.folder / "out/vocab.json").write_bytes(b"mine")
        self.assertIn("move it away", self.run_script().stderr)
        self.assertEqual(self.content("vocab.json"), b"mine")

    def test_absent(self):
        del self.server.files["/merges.txt"]
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("--base-url", done.stderr)
        self.assertEqual(self.names(), ["vocab.json"])

    def test_no_network(self):
        done = self.run_script(url="http://127.0.0.1:1")
        self.assertEqual(done.returncode, 1)
        for part in ("login node", "http://127.0.0.1:1/vocab.json", "http://127.0.0.1:1/merges.txt"):
            self.assertIn(part, done.stderr)
        self.assertEqual(self.names(), [])

    def test_bad_usage(self):
        for arguments in (["wikitext-1"], ["gpt2-tokenizer", "--bogus"], ["wikitext-2", "--variant", "x"]):
            self.assertEqual(self.run_script(*arguments).returncode, 2)
        self.assertEqual(self.run_script("--help").returncode, 0)


class FetchWithWget(Fetch):
    tools = "wget"


if __name__ == "__main__":
    unittest.main()
