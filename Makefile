# Two commands do everything: `make run` opens the window, `make test` checks the house.
# Each sets up what it needs by itself (packaging/setup.sh); a second run costs nothing.

.PHONY: help run test test-clients test-frameworks numbers bench fuzz soak lint format screenshots lock wheel bundle clean
.DEFAULT_GOAL := help

PYTHON_ = .venv/bin/python
FOR_RUN = @sh packaging/setup.sh run
FOR_DEV = @sh packaging/setup.sh dev

# Handed over in the environment, so that a path may hold spaces, quotes and dollars.
export TRANSCRIPT := $(value FILE)

help: ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1 \t/p' Makefile | expand -t 22

run: ## open the window on the bundled sample; FILE=path opens a transcript
	$(FOR_RUN)
	@$(PYTHON_) -m inspector "$${TRANSCRIPT:-resources/sample.jsonl}"

test: ## formatter, linter, types, import rules and all tests; ARGS=... goes to pytest
	$(FOR_DEV)
	@$(PYTHON_) packaging/check.py $(ARGS)

test-clients: ## real agents, from their registry, through the proxy to the simulated provider; ARGS=-k... chooses
	$(FOR_DEV)
	@$(PYTHON_) packaging/clients/install.py
	@$(PYTHON_) -m pytest -q tests/clients $(ARGS)

test-frameworks: ## `examples` against the real LangChain, pydantic-ai and OpenAI Agents SDK, from their registry
	$(FOR_DEV)
	@$(PYTHON_) packaging/frameworks.py
	@$(PYTHON_) -m pytest -q tests/frameworks $(ARGS)

fuzz: ## an hour of damaged files (ARGS="--minutes 5"), then ten times random hands on the window (SEEDS="7 8")
	$(FOR_DEV)
	@failed=; $(PYTHON_) -m tests.fuzz.run $(ARGS) || failed=" files"; \
	for seed in $(or $(SEEDS),1 2 3 4 5 6 7 8 9 10); do \
		$(PYTHON_) -m tests.gui.monkey 120 $$seed || failed="$$failed $$seed"; \
	done; test -z "$$failed" || { echo "make fuzz: failed:$$failed"; exit 1; }

soak: ## the proxy killed, the window following a file that grows; ARGS="--kills 10 --grow 5" for less
	$(FOR_DEV)
	@$(PYTHON_) -m tests.soak.run $(ARGS)

lint: ## the same without the tests
	$(FOR_DEV)
	@$(PYTHON_) packaging/check.py --no-tests

format: ## put the code into its one format
	$(FOR_DEV)
	@$(PYTHON_) -m ruff check --fix-only --quiet . && $(PYTHON_) -m ruff format --quiet .

numbers: ## walk every session of the tests over every face, under every policy
	$(FOR_DEV)
	@EVERY_FACE=1 $(PYTHON_) -m pytest -q -n 2 tests/test_numbers_shared.py tests/test_replay_shared.py $(ARGS)

bench: ## measure speed, as ratios in one run
	$(FOR_DEV)
	@$(PYTHON_) -m tests.bench.run $(ARGS)

screenshots: ## take the pictures of README and docs anew
	$(FOR_DEV)
	@$(PYTHON_) packaging/make_screenshots.py

lock: ## work out the pinned versions anew (UPGRADE=1: the newest ones)
	@sh packaging/lock.sh $(if $(UPGRADE),--upgrade)

wheel: ## build dist/*.whl
	$(FOR_DEV)
	@$(PYTHON_) -m build --wheel --no-isolation --outdir dist .

bundle: ## build a folder that needs no Python (dist/*.tar.zst) and a Debian package (dist/*.deb), 90 MB at most each
	$(FOR_DEV)
	@$(PYTHON_) packaging/bundle.py

clean: ## remove everything that was made here, .venv too
	@rm -rf .venv .clients .frameworks .setup.log build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .fuzz
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
