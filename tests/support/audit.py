"""Look for known vulnerabilities of the locked packages: `make audit`.

    python -m tests.support.audit PIP_AUDIT REQUIREMENTS

Exit code 0: none is known; 1: there are some; 2: the service did not answer.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

NOT_AUDITED = 2


def summarize_audit(report: dict[str, Any]) -> tuple[list[str], int]:
    """Return the lines to print about pip-audit's report, and the exit code.

    pip-audit itself succeeds if the service knows none of the packages.
    """
    packages = report["dependencies"]
    lines = [
        f"{package['name']} {package['version']}: {vulnerability['id']}, "
        f"fixed in {', '.join(vulnerability['fix_versions']) or 'no version'}"
        for package in packages
        for vulnerability in package.get("vulns", [])
    ]
    if lines:
        return [*lines, "Update the packages: make lock"], 1
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    if skipped:
        text = f"{len(skipped)} of {len(packages)} packages could not be audited: "
        text += f"the service does not know {skipped[0]}, for example."
        return [text], NOT_AUDITED
    return [f"No vulnerability is known in {len(packages)} packages."], 0


def run_audit(program: str, requirements: str) -> tuple[list[str], int]:
    """Run pip-audit; return the lines to print and the exit code."""
    options = ["--require-hashes", "--disable-pip", "--progress-spinner", "off"]
    process = subprocess.run(
        [program, "-r", requirements, "-f", "json", *options],
        check=False,
        capture_output=True,
        text=True,
    )
    try:
        return summarize_audit(json.loads(process.stdout))
    except ValueError:
        reason = (process.stderr.strip() or "no output").split("\n")[-1]
        text = f"The packages could not be audited: {reason}"
        return [text, "The audit needs access to PyPI."], NOT_AUDITED


if __name__ == "__main__":
    messages, exit_code = run_audit(*sys.argv[1:])
    print("\n".join(messages))
    sys.exit(exit_code)
