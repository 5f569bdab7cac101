# The front door: `make demo` and `make test` do everything on a bare Debian 12. CMake does the building; this file only
# names what people do. `make help` lists it.
PREFIX = /usr/local
DESTDIR =
SECONDS = 600
SEEDS = 0-999
KILLS = 100
ROUNDS = 3
PYTHON = python3
JOBS := $(shell nproc 2>/dev/null || echo 2)
export JOBS

# Tests also wait, for disks, other processes and the clock: so one more than there are cores.
TEST_JOBS := $(shell echo $$(($(JOBS) + 1)))
# A test that hangs is stopped after so many seconds.
TEST_LIMIT = 600
LONG_LIMIT = 7200
CTEST = ctest --output-on-failure --no-tests=error -j $(TEST_JOBS)
OWN_SOURCES = git ls-files -z '*.c' '*.h' '*.inc' '*.cu' '*.cuh'

.PHONY: all help demo test test-long test-view test-cluster test-faults test-gpu fuzz fuzz-night fuzz-coverage bench debug asan tsan clang valgrind coverage lint \
        format check-format install uninstall wheel deb release clean packages packages-script packages-deb packages-test packages-view packages-cluster packages-develop

all: packages ## build the library and the program build/credence
	@tools/build release

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z -]+:.*## / {printf "  make %-21s %s\n", $$1, $$2}' Makefile

demo: all ## train two kinds of network on a made-up scan, segment two others, compare, report: minutes
	@tools/demo.sh build/credence build/demo

test: packages-test all ## all tests, the unit tests and the seeds of the fuzz targets again under ASan and UBSan
	$(CTEST) --test-dir build --timeout $(TEST_LIMIT)
	@tools/build asan unit-tests
	CREDENCE_SPARSE=1 $(CTEST) --test-dir build-asan --timeout $(TEST_LIMIT) -L unit

test-long: packages-test packages-develop all ## hours: long tests, valgrind, TSan, ASan, clang, more fuzzing
	CREDENCE_LONG=1 $(CTEST) --test-dir build --timeout $(LONG_LIMIT)
	@$(MAKE) valgrind tsan asan clang
	@tools/fuzz 60

test-view: packages-view all ## the viewer's page in a real browser (Chromium), and its server
	$(CTEST) -j 1 --test-dir build --timeout $(LONG_LIMIT) -C page -R '^(page_|test_view_|http_)'

test-faults: packages-test all ## 1,000 faults of disks and 500 kills, each followed by the same bytes as without
	@CREDENCE_BUILD=build CREDENCE_PROGRAM=build/credence /usr/bin/python3 tests/faults/test_faults.py --seeds $(SEEDS) --kills $(KILLS)

test-cluster: packages-cluster all ## jobs of a Slurm cluster with three nodes on this machine (root): ROUNDS=3 of each that is disturbed
	CREDENCE_ROUNDS=$(ROUNDS) ctest --test-dir build --no-tests=error --timeout $(LONG_LIMIT) -C cluster -R '^cluster_' --verbose

# One test at a time: they measure, and share the GPU's memory.
test-gpu: packages-script ## tests of the CUDA plug-in and compute-sanitizer, on a machine with nvcc and a GPU
	@tools/build release gpu-tests
	@if build/credence --version | grep -q '^GPU (CUDA): yes'; then \
	    ! nvidia-smi >/dev/null 2>&1 || export CREDENCE_NEEDS_GPU=1; \
	    $(CTEST) -j 1 --test-dir build --timeout $(LONG_LIMIT) -R cuda --verbose && tools/sanitize-gpu build/tests; \
	else \
	    echo "Skipped: this build of credence has no CUDA plug-in, because nvcc was not found when it was configured."; \
	fi

fuzz: packages-test packages-develop ## each fuzz target for SECONDS=600
	@tools/fuzz $(SECONDS)

fuzz-night: packages-test packages-develop ## each fuzz target for 4 hours, and whether the last one brought anything new
	@tools/fuzz-night

fuzz-coverage: packages-test packages-develop ## how much of each reader the fuzz targets' inputs reach
	@tools/fuzz-coverage

bench: all ## throughput of this machine, as JSON
	@for what in ops predict train; do build/credence bench $$what --json || exit 1; done

clang: packages-develop
debug asan tsan clang: packages-test ## build that preset and run all tests on it
	@tools/build $@
	$(CTEST) --test-dir build-$@ --timeout $(LONG_LIMIT)

valgrind: packages-test packages-develop ## unit tests under valgrind
	@tools/build valgrind unit-tests
	$(CTEST) --test-dir build-valgrind --timeout $(LONG_LIMIT) -L unit

coverage: packages-test packages-develop ## what the tests reach, as build-coverage/coverage.html
	@tools/build coverage
	@find build-coverage -name '*.gcda' -delete
	$(CTEST) --test-dir build-coverage --timeout $(LONG_LIMIT)
	gcovr --root . --filter src/ --filter cli/ --object-directory build-coverage \
	      --html-details build-coverage/coverage.html --print-summary

lint: packages-test packages-develop ## read the code: clang-tidy, cppcheck and gcc -fanalyzer have nothing to say
	@tools/lint

format: packages-develop ## clang-format on our own files
	$(OWN_SOURCES) | xargs -0 clang-format -i

check-format: packages-develop ## fails if `make format` would change something
	$(OWN_SOURCES) | xargs -0 clang-format --dry-run -Werror

install: all ## into PREFIX=/usr/local, below DESTDIR where that is set
	DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"
	@cp build/install_manifest.txt build/installed.txt
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig

wheel: packages-script ## a Python package with all its libraries inside, in build/packages
	@tools/build release credence_wheel
	@mkdir -p build/packages
	@cd python && CREDENCE_WHEEL=all CREDENCE_WHEEL_BUILD="$(CURDIR)/build" $(PYTHON) build_backend.py ../build/packages

deb: packages-deb ## Debian packages: program, library, headers and plug-ins, in build/packages
	@tools/make-deb

release: packages-deb packages-script ## source archive, Debian packages, wheel and checksums of the last commit, in build/release
	@tools/release

uninstall: ## remove what the last `make install` of this folder installed
	@[ -f build/installed.txt ] || { echo "Nothing has been installed from this folder."; exit 1; }
	@while IFS= read -r file || [ -n "$$file" ]; do rm -fv "$(DESTDIR)$$file"; done < build/installed.txt

clean: ## remove everything that was built
	rm -rf build build-*

packages:
	@tools/install-packages build optional
packages-script:
	@tools/install-packages build optional script
packages-test:
	@tools/install-packages build optional script test
packages-view:
	@tools/install-packages build optional script test page
packages-cluster:
	@tools/install-packages build optional script test cluster slurm
packages-deb:
	@tools/install-packages build optional package
packages-develop:
	@tools/install-packages package develop
