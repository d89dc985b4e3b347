#!/usr/bin/python3
"""compose.py - the compose files, without an engine: what they mount is there, the options of the services are options,
and names, ports and slots agree between compose.yaml, the proxy, Prometheus, Grafana and the image. haproxy and promtool
read their files as the containers have them."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

PROJECT = pathlib.Path(__file__).resolve().parents[1]
wrong = []


def need(condition, what):
    if not condition:
        wrong.append(what)


def listed(of, what):
    """The entries of a list or the names of a mapping."""
    return list(of.get(what) or [])


def options_of(holdfast):
    """Every option of serve, as the environment names it."""
    said = subprocess.run([holdfast, "serve", "--help"], capture_output=True, text=True, check=True).stdout
    return {"HOLDFAST_" + flag.replace("-", "_").upper() for flag in re.findall(r"--([a-z-]+)", said)}


def mounts_look(path, file):
    """Files that are mounted are there; volumes that are mounted are declared, and each of them is."""
    volumes = set()
    for name, service in file["services"].items():
        for mount in listed(service, "volumes"):
            source = mount.split(":")[0]
            if source.startswith("."):
                need((path.parent / source).resolve().is_file(), f"{path.name}: {name} mounts {source}, which is no file")
            else:
                volumes.add(source)
    need(volumes == set(file.get("volumes") or {}), f"{path.name}: volumes {volumes}, declared {file.get('volumes')}")


def services_look(path, file, options):
    image_port = re.search(r"^EXPOSE (\d+)", (PROJECT / "Containerfile").read_text(), re.M)[1]
    ours = {name: s for name, s in file["services"].items() if s["image"] == "holdfast" and "entrypoint" not in s}
    slots = []
    for name, service in file["services"].items():
        need(re.fullmatch(r"(?:[a-z]+/)?[a-z]+(?::[v\d.]+)?", service["image"]), f"{name}: the image {service['image']}")
        for other in listed(service, "depends_on"):
            need(other in file["services"], f"{name} depends on {other}, which is not there")
    for name, service in ours.items():
        environment = service.get("environment") or {}
        need(set(environment) <= options, f"{name}: no options of serve: {set(environment) - options}")
        need(service.get("stop_grace_period") == "60s", f"{name} gets less than 60 s to end")
        slots.append((int(environment.get("HOLDFAST_SLOT", 0)), int(environment.get("HOLDFAST_LANES", 1))))
        for mapping in listed(service, "ports"):
            need(mapping.split(":")[-1] == image_port, f"{name} publishes {mapping}, the image listens on {image_port}")
    slots.sort()
    need(all(a + lanes <= b for (a, lanes), (b, _) in zip(slots, slots[1:])), f"slots and lanes overlap: {slots}")
    return {f"{name}:{image_port}" for name in ours}


def around_look(path, file, ours):
    """The proxy, Prometheus and Grafana before the services `ours`, each NAME:PORT."""
    services, folder = file["services"], path.parent
    proxy = services["proxy"]["environment"]
    need({proxy["HOLDFAST_ONE"], proxy["HOLDFAST_TWO"]} == ours, f"the proxy has {proxy}, the services are {ours}")
    need(services["proxy"]["ports"][0].endswith(proxy["HOLDFAST_PROXY"]), "the proxy's port is another one")
    config = yaml.safe_load((folder / "prometheus.yaml").read_text())["scrape_configs"][0]
    named = yaml.safe_load((PROJECT / "monitoring/prometheus.yaml").read_text())["scrape_configs"][0]["job_name"]
    need(set(config["static_configs"][0]["targets"]) == ours, "Prometheus asks others")
    need(config["job_name"] == named, "the alerts are of another job")
    key, volume = config["authorization"]["credentials_file"].rsplit("/", 1)[::-1]
    need(f"secrets:{volume}:ro" in services["prometheus"]["volumes"], f"Prometheus has no {volume}")
    need(f"once {key} holdfast key new" in (folder / "setup.sh").read_text(), f"setup.sh makes no {key}")
    targets = {mount.split(":")[1]: mount.split(":")[0] for mount in services["grafana"]["volumes"]}
    provider = yaml.safe_load((folder / "dashboards.yaml").read_text())["providers"][0]["options"]["path"]
    need(f"{provider}/holdfast.json" in targets, f"no dashboard lies in {provider}")
    url = yaml.safe_load((folder / "datasource.yaml").read_text())["datasources"][0]["url"]
    need(url == "http://prometheus:9090" and "127.0.0.1:9090:9090" in services["prometheus"]["ports"], f"Grafana asks {url}")
    for name in re.findall(r"mariadb://\w+@(\w+)/|--host=(\w+)", path.read_text() + (folder / "setup.sh").read_text()):
        need((name[0] or name[1]) in services, f"there is no database {name}")


def programs_look(path, file):
    """haproxy and promtool judge the files."""
    with tempfile.TemporaryDirectory() as scratch:
        if shutil.which("haproxy"):
            ran = subprocess.run(["haproxy", "-c", "-f", PROJECT / "docs/proxies/haproxy.cfg"], capture_output=True, text=True,
                                 env={**os.environ, **file["services"]["proxy"]["environment"]})
            need(ran.returncode == 0, f"haproxy: {ran.stderr}")
        if shutil.which("promtool"):
            shutil.copy(PROJECT / "monitoring/alerts.yaml", scratch)
            pathlib.Path(scratch, "key").touch()
            text = (path.parent / "prometheus.yaml").read_text().replace("/secrets/prometheus.key", f"{scratch}/key")
            pathlib.Path(scratch, "prometheus.yaml").write_text(text)
            ran = subprocess.run(["promtool", "check", "config", f"{scratch}/prometheus.yaml"], capture_output=True, text=True)
            need(ran.returncode == 0, f"promtool: {ran.stderr}")
    ran = subprocess.run(["sh", "-n", path.parent / "setup.sh"], capture_output=True, text=True)
    need(ran.returncode == 0, f"setup.sh: {ran.stderr}")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--holdfast", default="build/holdfast")
    options = options_of(arguments.parse_args().holdfast)
    for path in (PROJECT / "compose.yaml", PROJECT / "docs/compose/compose.yaml"):
        file = yaml.safe_load(path.read_text())
        mounts_look(path, file)
        ours = services_look(path, file, options)
        need(ours, f"{path} has no service of ours")
        if "proxy" in file["services"]:
            around_look(path, file, ours)
            programs_look(path, file)
    for line in wrong:
        print(f"compose: {line}")
    print(f"compose: {len(wrong)} wrong")
    return 1 if wrong else 0


sys.exit(main())
