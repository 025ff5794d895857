"""The files for nodes under systemd, Docker Compose and Kubernetes: valid, and as muster is."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final, cast

import pytest
import yaml

from muster.settings.model import Settings
from tests.homes import MUSTER_SCRIPT, environment
from tests.postgres import a_database, new_team
from tests.waits import WAIT_SECONDS

FOLDER: Final = Path(__file__).parents[2] / "docs/guides/nodes"
Json = Any  # what YAML is read as


def documents(name: str) -> list[Json]:
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def test_the_unit_of_a_node_is_valid_for_systemd(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    assert analyze, "install systemd (apt-get install systemd): its own check judges the unit"
    text = (FOLDER / "muster-node.service").read_text()
    unit = tmp_path / "muster-node.service"
    unit.write_text(text.replace("/opt/muster/bin/muster", str(MUSTER_SCRIPT)))
    line = [analyze, "verify", "--man=no", str(unit)]
    ran = subprocess.run(line, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)
    assert "muster-node.service" not in ran.stderr, ran.stderr


def test_the_services_of_compose_name_volumes_conditions_and_services_that_are_there() -> None:
    (found,) = documents("compose.yaml")
    services = cast("dict[str, Json]", found["services"])
    assert set(services) == {"database", "desk", "box"}
    for service in services.values():
        assert service["image"]
        for volume in service["volumes"]:
            assert volume.partition(":")[0] in found["volumes"]
        for other, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}
            assert other in services
    begins = {name: each["environment"].get("BEGINS") for name, each in services.items()}
    assert begins == {"database": None, "desk": "yes", "box": "no"}


def test_the_objects_of_kubernetes_belong_together() -> None:
    service, nodes = documents("kubernetes.yaml")
    assert (service["apiVersion"], service["kind"]) == ("v1", "Service")
    assert (nodes["apiVersion"], nodes["kind"]) == ("apps/v1", "StatefulSet")
    spec = nodes["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["serviceName"] == service["metadata"]["name"]
    assert spec["selector"]["matchLabels"] == service["spec"]["selector"] == labels
    (container,) = spec["template"]["spec"]["containers"]
    (port,) = container["ports"]
    assert port["containerPort"] == service["spec"]["ports"][0]["port"] == Settings().server.port
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["port"] == port["name"]
    mounted = {each["name"] for each in container["volumeMounts"]}
    assert mounted == {each["metadata"]["name"] for each in spec["volumeClaimTemplates"]}


@pytest.mark.parametrize("name", ["compose.yaml", "kubernetes.yaml", "muster-node.service"])
def test_every_variable_of_muster_is_a_setting(name: str) -> None:
    named = set(re.findall(r"\bMUSTER_[A-Z_]+", (FOLDER / name).read_text())) - {"MUSTER_HOME"}
    for each in named:
        table, _, key = each.removeprefix("MUSTER_").lower().partition("_")
        assert hasattr(getattr(Settings(), table), key), each


def scripts() -> list[str]:
    """The command lines by which containers start, as a shell gets them."""
    (compose,) = documents("compose.yaml")
    _, nodes = documents("kubernetes.yaml")
    (container,) = nodes["spec"]["template"]["spec"]["containers"]
    lines = (compose["x-node"]["command"][-1].replace("$$", "$"), container["command"][-1])
    return [re.sub(r"exec muster up.*", "echo starts", line) for line in lines]


@pytest.mark.parametrize("script", scripts())
def test_a_container_begins_a_team_only_if_it_may_and_joins_one_that_is_there(
    script: str, tmp_path: Path
) -> None:
    """Without a team a node that may not begin it does not start; a home that is there is kept."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "muster").symlink_to(MUSTER_SCRIPT)
    home, team = tmp_path / "home", new_team()
    variables = {
        "MUSTER_HOME": str(home),
        "MUSTER_STORE_DATABASE": a_database().url,
        "BEGINS": "no",
    }
    env = environment(variables)
    env["PATH"] = f"{bin_folder}:{env['PATH']}"

    def started() -> bool:
        line = ["sh", "-ec", script.replace("acme", team)]
        ran = subprocess.run(
            line, env=env, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False
        )
        return ran.returncode == 0 and "starts" in ran.stdout

    assert not started()
    assert not home.exists()
    home.mkdir()
    (home / "team.database").touch()
    assert started()
