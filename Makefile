# The front door: `make`, `make demo`, `make test`. CMake does the building.
BUILD ?= build
PRESET ?= release

.PHONY: all setup setup-test demo test test-long clean
all: setup
	cmake --preset $(PRESET) >/dev/null && cmake --build $(BUILD) -j
setup:
	@tools/install-packages runtime build
setup-test: setup
	@tools/install-packages test
test: setup-test all
	ctest --test-dir $(BUILD) --output-on-failure -j2
# Everything where `test` takes a part: all 2^32 normal numbers, millions of inputs of each function. Minutes.
test-long: setup-test all
	CREDENCE_LONG=1 ctest --test-dir $(BUILD) --output-on-failure -j2
demo: all
	$(BUILD)/credence
clean:
	rm -rf build
