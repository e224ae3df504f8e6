#!/usr/bin/env python3
"""Images of the tests and the demo, made here and needing no registry.

    images.py CACHE SOCKET [--namespace k8s.io] [--ctr PROGRAM]

registry.test/box:1    busybox with all its applets, and /bin/hs, the web server of images/hs.c (its default command)
registry.test/box:2    the same under another tag and another digest, for tests that change an image
registry.test/pause:1  the sandbox's process, images/pause.c

Each is an OCI layout in a tar file, written by this file alone: the same input gives the same bytes, hence the same
digest. CACHE keeps them by the hash of what they are made from, so only a change makes them again.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / "images"
BUSYBOX = pathlib.Path("/bin/busybox")
BOX = "registry.test/box:1"
BOX2 = "registry.test/box:2"
PAUSE = "registry.test/pause:1"


def compiled(source, into):
    """The static program of one C file."""
    program = pathlib.Path(into) / source.stem
    compiler = os.environ.get("PODWRIGHT_IMAGE_CC", "clang-16")
    subprocess.run([compiler, "-static", "-Os", "-Wall", "-o", str(program), str(source)], check=True)
    return program.read_bytes()


class Layer:
    """Files of one layer, as a tar whose bytes depend on nothing but them."""

    def __init__(self):
        self._bytes = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._bytes, mode="w", format=tarfile.USTAR_FORMAT)

    def _entry(self, path, kind, mode):
        entry = tarfile.TarInfo(path)
        entry.type, entry.mode = kind, mode
        return entry

    def folder(self, path, mode=0o755):
        self._tar.addfile(self._entry(path, tarfile.DIRTYPE, mode))

    def link(self, path, target):
        entry = self._entry(path, tarfile.SYMTYPE, 0o777)
        entry.linkname = target
        self._tar.addfile(entry)

    def file(self, path, content, mode=0o644):
        content = content.encode() if isinstance(content, str) else content
        entry = self._entry(path, tarfile.REGTYPE, mode)
        entry.size = len(content)
        self._tar.addfile(entry, io.BytesIO(content))

    def content(self):
        self._tar.close()
        return self._bytes.getvalue()


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def write_archive(path, reference, layer, config):
    """An OCI layout with one image in a tar file: https://github.com/opencontainers/image-spec."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    packed = gzip.compress(layer, compresslevel=6, mtime=0)
    blobs = []

    def blob(content, media_type):
        blobs.append(content)
        return {"mediaType": media_type, "digest": digest(content), "size": len(content)}

    image = {
        "created": "2026-01-01T00:00:00Z",
        "architecture": machine,
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
        "history": [{"created": "2026-01-01T00:00:00Z", "created_by": "podwright tests"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(json.dumps(image, sort_keys=True).encode(), "application/vnd.oci.image.config.v1+json"),
        "layers": [blob(packed, "application/vnd.oci.image.layer.v1.tar+gzip")],
    }
    entry = blob(json.dumps(manifest, sort_keys=True).encode(), manifest["mediaType"])
    entry["annotations"] = {
        "io.containerd.image.name": reference,
        "org.opencontainers.image.ref.name": reference.rsplit(":", 1)[1],
    }
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry]}

    whole = Layer()
    whole.file("oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}))
    whole.file("index.json", json.dumps(index, sort_keys=True))
    for content in blobs:
        whole.file("blobs/sha256/" + digest(content).split(":")[1], content)
    # A second process may be making the same file: each writes its own and the last rename wins.
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as made:
        made.write(whole.content())
    os.rename(made.name, path)


def box_layer(into, note):
    layer = Layer()
    for folder in ("bin", "sbin", "usr", "usr/bin", "usr/sbin", "etc", "dev", "proc", "sys", "root", "run", "var"):
        layer.folder(folder)
    layer.folder("tmp", 0o1777)
    layer.folder("srv")
    layer.file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
               "app:x:1000:1000:app:/srv:/bin/sh\n")
    layer.file("etc/group", "root:x:0:\nnogroup:x:65534:\napp:x:1000:\nextra:x:2000:app\n")
    layer.file("etc/box", note + "\n")
    layer.file("bin/busybox", BUSYBOX.read_bytes(), 0o755)
    layer.file("bin/hs", compiled(SOURCES / "hs.c", into), 0o755)
    applets = subprocess.run([str(BUSYBOX), "--list-full"], check=True, capture_output=True, text=True).stdout.split()
    for applet in sorted(set(applets) - {"bin/busybox", "bin/hs"}):
        layer.link(applet, "/bin/busybox")
    return layer.content()


def pause_layer(into):
    layer = Layer()
    layer.file("pause", compiled(SOURCES / "pause.c", into), 0o755)
    return layer.content()


def made_from():
    """The hash of everything the images are made from."""
    seen = hashlib.sha256()
    for path in (pathlib.Path(__file__), SOURCES / "hs.c", SOURCES / "pause.c", BUSYBOX):
        seen.update(path.read_bytes())
    return seen.hexdigest()[:16]


def archives(cache):
    """The archive files, made unless they are in the cache. Other versions in the cache are deleted."""
    if not BUSYBOX.exists():
        sys.exit("images: /bin/busybox is missing: ./dev setup installs busybox-static")
    cache = pathlib.Path(cache)
    cache.mkdir(parents=True, exist_ok=True)
    key = made_from()
    wanted = {BOX: cache / f"box1-{key}.tar", BOX2: cache / f"box2-{key}.tar", PAUSE: cache / f"pause-{key}.tar"}
    if not all(path.exists() for path in wanted.values()):
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        box = {"Env": [path, "BOX=1"], "Cmd": ["/bin/hs", "80"], "WorkingDir": "/"}
        with tempfile.TemporaryDirectory() as into:
            write_archive(wanted[BOX], BOX, box_layer(into, "1"), box)
            write_archive(wanted[BOX2], BOX2, box_layer(into, "2"), box)
            write_archive(wanted[PAUSE], PAUSE, pause_layer(into), {"Entrypoint": ["/pause"], "WorkingDir": "/"})
    for old in cache.glob("*.tar"):
        if old not in wanted.values():
            old.unlink(missing_ok=True)
    return wanted


def load(cache, socket, namespace="k8s.io", ctr="ctr"):
    """Imports all of them into the containerd at `socket`."""
    for reference, path in archives(cache).items():
        done = subprocess.run([ctr, "-a", str(socket), "-n", namespace, "images", "import", str(path)],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"import {reference} from {path}: {done.stderr.strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache")
    parser.add_argument("socket")
    parser.add_argument("--namespace", default="k8s.io")
    parser.add_argument("--ctr", default="ctr")
    options = parser.parse_args()
    load(options.cache, options.socket, options.namespace, options.ctr)


if __name__ == "__main__":
    main()
