#!/bin/sh
# An agent, an episode and a label with nothing but curl.
set -eu
URL=${PLAUDIT_URL:-http://127.0.0.1:8000}
post() { curl -sS --fail-with-body "$URL$1" -H 'Content-Type: application/json' -d "$2"; echo; }
id_of() { sed -E 's/.*"id":"([^"]+)".*/\1/'; }

AGENT=$(post /v1/agents '{"name": "door", "horizon": 3, "states": {"kind": "labels", "values": ["shut", "open"]},
                          "actions": {"kind": "labels", "values": ["push", "pull"]}}' | id_of)
EPISODE=$(post "/v1/agents/$AGENT/episodes" '{}' | id_of)
post "/v1/episodes/$EPISODE/steps" '{"state": "shut", "step": 0}'
post "/v1/episodes/$EPISODE/steps" '{"state": "shut", "step": 1}'
post "/v1/episodes/$EPISODE/finish" '{"state": "open"}'
post "/v1/episodes/$EPISODE/label" '{"label": 1}'
