"""Build hook: put an SBOM of the runtime dependencies into the wheel (PEP 770)."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SBOM_FILE = "leslied.cdx.json"
_PROJECT = "leslied (pyproject.toml)"
"""How uv names the project as the reason for a package that it needs at run time."""
_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_REASON = re.compile(r"^    # (?:via |  )(\S.*)$", re.MULTILINE)


class LockedPackage(NamedTuple):
    """One package of requirements.lock."""

    name: str
    version: str
    hashes: tuple[str, ...]
    required_by: tuple[str, ...]

    @property
    def purl(self) -> str:
        """Return the package URL, which identifies the package in an SBOM."""
        return f"pkg:pypi/{self.name}@{self.version}"


class SbomHook(BuildHookInterface):
    """Hook that hatchling runs before it builds a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Write the SBOM and name it to the builder."""
        lock = Path(self.root, "requirements.lock").read_text("utf-8")
        sbom = make_sbom(parse_lock(lock), self.metadata.version)
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name, SBOM_FILE)
        file.write_text(json.dumps(sbom, indent=1) + "\n", "utf-8")
        build_data["sbom_files"].append(str(file))

    def finalize(self, *_: Any) -> None:
        """Remove the SBOM; the wheel contains it now."""
        self._folder.cleanup()


def parse_lock(text: str) -> list[LockedPackage]:
    """Parse requirements.lock as uv writes it, with the reason for each package."""
    packages = []
    for entry in re.split(r"\n(?=\S)", text):
        if match := _REQUIREMENT.match(entry):
            hashes, reasons = _HASH.findall(entry), _REASON.findall(entry)
            packages.append(
                LockedPackage(match[1], match[2], tuple(hashes), tuple(reasons))
            )
    return packages


def select_runtime(packages: list[LockedPackage]) -> list[LockedPackage]:
    """Return the packages that leslied needs at run time, also indirectly."""
    names: set[str] = set()
    reasons = {_PROJECT}
    while reasons - names:
        names |= reasons
        reasons = {p.name for p in packages if names.intersection(p.required_by)}
    return [package for package in packages if package.name in names]


def make_sbom(packages: list[LockedPackage], version: str) -> dict[str, Any]:
    """Make a CycloneDX document of the locked runtime dependencies.

    It has neither a time nor a serial number, so that the same lock gives the same
    bytes.
    """
    runtime = select_runtime(packages)
    project = f"pkg:pypi/leslied@{version}"
    refs = {_PROJECT: project} | {package.name: package.purl for package in runtime}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": project,
                "name": "leslied",
                "version": version,
                "purl": project,
            }
        },
        "components": [_make_component(package) for package in runtime],
        "dependencies": [
            {
                "ref": ref,
                "dependsOn": [p.purl for p in runtime if name in p.required_by],
            }
            for name, ref in refs.items()
        ],
    }


def _make_component(package: LockedPackage) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        "externalReferences": [
            {
                "type": "distribution",
                "url": package.purl,
                "hashes": [{"alg": "SHA-256", "content": h} for h in package.hashes],
            }
        ],
    }
