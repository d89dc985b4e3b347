#!/usr/bin/python3
"""monitoring.py - the files of monitoring/ against a real service and a real Prometheus: promtool's tests of the alerts,
then each query of the dashboard and of the alerts. A query of the dashboard must find something, unless it is about
what this service does not have. Each alert has a test and a part of the operator's page. The service has a back-up and
an audit, before which two alerts wait."""
import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "kit"))
from child import end_with_us   # noqa: E402

ABSENT = ("undelivered_age", "_node_", "certificate_expiry", "key_expiry")  # no webhook, cluster, TLS, keys here


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(url, body=None):
    data = json.dumps(body).encode() if body is not None else None
    ask = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(ask, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def until(what, condition):
    end = time.time() + 60
    while time.time() < end:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit(f"monitoring: {what} did not happen within 60 s")


def query(at, expr):
    status, text = get(f"{at}/api/v1/query?" + urllib.parse.urlencode({"query": expr}))
    answer = json.loads(text)
    return answer["data"]["result"] if status == 200 else answer["error"]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--holdfast", default="build/holdfast")
    arguments = arguments.parse_args()
    wrong = []
    for words in (["check", "rules", "monitoring/alerts.yaml"], ["test", "rules", "monitoring/alerts_test.yaml"],
                  ["check", "config", "monitoring/prometheus.yaml"]):
        ran = subprocess.run(["promtool"] + words, capture_output=True, text=True)
        if ran.returncode:
            wrong.append(f"promtool {' '.join(words)}: {ran.stdout}{ran.stderr}")

    alerts = yaml.safe_load(open("monitoring/alerts.yaml"))["groups"][0]["rules"]
    tests = yaml.safe_load(open("monitoring/alerts_test.yaml"))["tests"]
    page = open("docs/operator.md").read()
    metrics = set(re.findall(r'"((?:holdfast|process)_[a-z_]+)"', open("api/metrics.def").read()))
    fired = {t["alertname"] for test in tests for t in test["alert_rule_test"] if t.get("exp_alerts")}
    silent = {t["alertname"] for test in tests for t in test["alert_rule_test"] if not t.get("exp_alerts")}
    for alert in alerts:
        name = alert["alert"]
        if name not in fired or name not in silent:
            wrong.append(f"{name}: no test in which it speaks, or none in which it is silent")
        if alert["annotations"]["runbook_url"].split("#")[1] not in [h.lower() for h in re.findall(r"^### (\S+)$", page, re.M)]:
            wrong.append(f"{name}: docs/operator.md has no such part")
    panels = [(p["title"], t["expr"]) for p in json.load(open("monitoring/holdfast.json"))["panels"] for t in p.get("targets", [])]
    queries = panels + [(a["alert"], a["expr"]) for a in alerts]
    for title, expr in queries:
        for name in re.findall(r"\b(?:holdfast|process)_[a-z_]+\b", expr):
            if re.sub(r"_(bucket|sum|count)$", "", name) not in metrics and name not in metrics:
                wrong.append(f"{title}: there is no metric {name}")

    with tempfile.TemporaryDirectory() as folder:
        listen, ask = port(), port()
        config = yaml.safe_load(open("monitoring/prometheus.yaml"))
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = [os.path.abspath("monitoring/alerts.yaml")]
        config["scrape_configs"][0]["static_configs"] = [{"targets": [f"127.0.0.1:{listen}"]}]
        with open(f"{folder}/prometheus.yaml", "w") as to:
            yaml.safe_dump(config, to)
        logs = open(f"{folder}/log", "w+")
        run = lambda *words: subprocess.Popen(words, stdout=logs, stderr=logs, preexec_fn=end_with_us)
        started = [run(arguments.holdfast, "serve", "--data", f"{folder}/var", "--listen", f"127.0.0.1:{listen}",
                       "--jobs=expire,reap,deliver"),
                   run("prometheus", f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data",
                       f"--web.listen-address=127.0.0.1:{ask}", "--log.level=warn")]
        try:
            service, prometheus = f"http://127.0.0.1:{listen}", f"http://127.0.0.1:{ask}"
            until("the service's first answer", lambda: get(service + "/readyz")[0] == 200)
            get(service + "/v1/movements", {"movement_id": "m1", "kind": "receipt", "lines": [{"sku": "A", "qty": 5}]})
            state_of = lambda: {r["name"]: r["state"] for r in
                                json.loads(get(prometheus + "/api/v1/rules")[1])["data"]["groups"][0]["rules"]}
            until("an alert that waits for a back-up",
                  lambda: {name for name, state in state_of().items() if state == "pending"} ==
                  {"HoldfastBackupOld", "HoldfastAuditOld"})
            for words in (["backup", f"{folder}/copies"], ["audit"]):
                ran = subprocess.run([arguments.holdfast, *words, "--data", f"{folder}/var"], stdout=logs, stderr=logs)
                if ran.returncode:
                    wrong.append(f"holdfast {' '.join(words)} ended with {ran.returncode}")
            until("a scrape that knows of the back-up and of the audit",
                  lambda: "pending" not in state_of().values())

            def calls():
                for n in range(3):
                    get(service + "/v1/reservations", {"order_id": f"R{time.time_ns()}", "lines": [{"sku": "A", "qty": 1}]})
                return query(prometheus, 'sum(rate(holdfast_request_seconds_count{group="orders"}[10s])) > 0') and \
                    query(prometheus, 'sum(rate(holdfast_refusals_total{code="short"}[10s])) > 0') and \
                    query(prometheus, "holdfast_reservations")
            until("a scrape with orders and refusals", calls)
            for title, expr in queries:
                found = query(prometheus, expr.replace("$job", ".+").replace("$__rate_interval", "10s"))
                if isinstance(found, str):
                    wrong.append(f"{title}: {expr}: {found}")
                elif (title, expr) in panels and not found and not any(a in expr for a in ABSENT):
                    wrong.append(f"{title}: {expr} finds nothing")
            rules = json.loads(get(prometheus + "/api/v1/rules")[1])["data"]["groups"][0]["rules"]
            wrong += [f"{r['name']}: {r['health']} {r.get('lastError', '')}" for r in rules if r["health"] == "err"]
            wrong += [f"{r['name']} speaks of a service that is well" for r in rules if r["state"] != "inactive"]
        finally:
            for p in started:
                p.terminate()
            for p in started:
                p.wait()
    for line in wrong:
        print(f"monitoring: {line}")
    print(f"monitoring: {len(alerts)} alerts, {len(panels)} queries of the dashboard, {len(wrong)} wrong")
    return 1 if wrong else 0


sys.exit(main())
