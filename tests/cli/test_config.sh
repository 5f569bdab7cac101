#!/usr/bin/env bash
# --config: a JSON file under the flags.
. "$(dirname "$0")/common.sh"

printf '\0\1\2\3\4\5\6\7' >"$folder/small.raw"
config() { printf '%s' "$1" >"$folder/config.json"; }
info() { run info --header "$@" --config "$folder/config.json" "$folder/small.raw"; }

config '{"shape": [2, 2, 2], "type": "u8"}'
info;               expect 0; no_err; out 'shape +z 2, y 2, x 2'
info --shape 1,2,4; expect 0; out 'shape +z 1, y 2, x 4'
run info --shape 1,2,4 --config "$folder/config.json" --header "$folder/small.raw"; expect 0; out 'z 1, y 2, x 4'
info --shape=1,2,2 --type=u16; expect 0; out 'type +u16'

config '{"shape": "2,2,2", "type": "u8", "json": true, "seed": 9007199254740991, "header": false}'
info; expect 0; same "$(json 'd["shape"], d["min"]')" '[2, 2, 2] None'
run info --config "$folder/config.json" "$folder/small.raw"; expect 0; same "$(json 'd["shape"], d["max"]')" '[2, 2, 2] 7'

# The settings of a manifest, with its other keys around them.
config '{"program": "credence 0.1.0", "settings": {"shape": [2, 2, 2], "type": "u8"}, "warnings": []}'
info; expect 0; out 'z 2, y 2, x 2'

config '{"shap": [2, 2, 2]}';             info; expect 2; err "config\.json: there is no setting 'shap'; did you mean 'shape'\?"; err "^try 'credence info --help'"
config '{"shape": [2, 2]}';               info; expect 2; err 'config\.json: shape must be three whole numbers'
config '{"shape": [2, 2, 2], "shape": 1}'; info; expect 2; err 'shape stands there twice'
config '{"shape": [2, 2, 2],}';           info; expect 2; err 'config\.json is not valid JSON: line 1'
config '[]';                              info; expect 2; err 'must hold a JSON object'
config '{"device": "gpu"}';               info; expect 2; err 'config\.json: device must be auto'
config '{"offset": -1}';                  info; expect 2; err 'offset must lie between 0'
run info --config "$folder/absent.json" x; expect 1; err "can't open .*absent\.json"
run info --config "$folder" x;             expect 1; err "can't read"
finish
