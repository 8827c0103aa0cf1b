# SPDX-License-Identifier: Apache-2.0
"""Configurations of the JetStream cases: what an acknowledgement promises."""

_JS = 'jetstream {{ store_dir: "@DIR@/js"{} }}\n'
ALWAYS = _JS.format(", sync_interval: always")
DEFERRED = _JS.format(', sync_interval: "2m"')
DEFAULTS = _JS.format("")
