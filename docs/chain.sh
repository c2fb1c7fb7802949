#!/usr/bin/env bash
# From documents to a report: index them, draw questions, collect the answers of three searches, judge and compare them.
# JUDGE names the model that answers, steers the search tog, and judges. JUDGE=local needs no account and no key.
set -euo pipefail
judge=${JUDGE:-openai:gpt-5.4-mini}

greval demo --write ferries
greval index build ferries/documents.jsonl -o index --embedding tfidf
greval questions index -n 20 -o questions.jsonl
greval collect questions.jsonl -o answers.jsonl -q \
  --method "reference:index?search=basic&k=3&answer=$judge" \
  --method "reference:index?search=hybrid&k=3&answer=$judge" \
  --method "reference:index?search=tog&k=3&answer=$judge"
greval evaluate answers.jsonl -m recall@3 -m correctness --judge "$judge" -o runs/chain -q
greval duel answers.jsonl -m comprehensiveness --judge "$judge" -o runs/chain
greval compare runs/chain --baseline basic
greval report runs/chain --html report.html
