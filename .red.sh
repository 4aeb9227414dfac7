cd /tmp/wk/chain
git worktree add -f .red origin/main -q 2>/dev/null || (cd .red && git checkout -q --detach origin/main)
cp tests/live/test_chain.py .red/tests/live/
cd .red && env PYTHONPATH=/tmp/wk/chain/.red/src ../tools/sealed env PYTHONPATH=/tmp/wk/chain/.red/src ../.venv/bin/python -m pytest tests/live/test_chain.py -q -n2 -p no:cacheprovider 2>&1 | tail -45
