"""The stages after ingest, one module each; `pipeline.flow` lists them in order."""

from __future__ import annotations
