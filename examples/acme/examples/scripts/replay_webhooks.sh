#!/usr/bin/env bash
# Replay dead webhook events of one carrier, with a dry run and a question in between.
#
# Tags: operations, webhooks, replay
# Source: PRP-29.3
# Usage: replay_webhooks.sh CARRIER AGE [LIMIT]      e.g. replay_webhooks.sh dhl 6h 500
#
# The script refuses to run while the carrier's circuit breaker is open: the events
# would wait, use up their new budget and be dead again after RETRY_MAX_ELAPSED_S.

set -euo pipefail

if [[ $# -lt 2 ]]; then
  sed -n '2,6p' "$0" >&2
  exit 2
fi

carrier=$1
age=$2
limit=${3:-500}

: "${ACME_API_URL:?set ACME_API_URL to the API of the environment}"
: "${ACME_API_KEY:?set ACME_API_KEY to an operator key}"

state=$(
  curl --fail --silent --show-error \
    --header "Authorization: Bearer ${ACME_API_KEY}" \
    "${ACME_API_URL}/v1/admin/breakers/${carrier}" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["state"])'
)
if [[ $state == open ]]; then
  echo "breaker of ${carrier} is open; wait until the carrier is back" >&2
  exit 4
fi

echo "Would be replayed:"
acme-parcel webhooks replay --carrier "$carrier" --since "$age" --limit "$limit" --dry-run

read -r -p "Replay these events of ${carrier}? Type the carrier's name: " answer
if [[ $answer != "$carrier" ]]; then
  echo "nothing done" >&2
  exit 1
fi

acme-parcel webhooks replay --carrier "$carrier" --since "$age" --limit "$limit"
