#!/usr/bin/env bash
# credence convert between the formats that every build has, against numpy and h5py.
. "$(dirname "$0")/common.sh"
cd "$folder" || exit 1

/usr/bin/python3 - <<'PYTHON' || exit 1
import numpy as np
rng = np.random.default_rng(2)
np.save("scan.npy", rng.integers(0, 65536, (5, 6, 7), dtype=np.uint16))
np.save("real.npy", np.array([[[-3.0, 0.4, 0.6, 254.5, 300.0, 128.0]]], np.float32))
PYTHON

# holds EXPRESSION: true in Python, with numpy as np, h5py and `scan`
holds() {
    /usr/bin/python3 -c "import numpy as np, h5py; scan = np.load('scan.npy'); assert $1" || complain "$1"
}

run convert scan.npy copy.npy; expect 0; no_out; holds "np.array_equal(np.load('copy.npy'), scan) and np.load('copy.npy').dtype == scan.dtype"
run convert scan.npy scan.h5:/entry/data --compress 4 --spacing 2,1,0.5,um; expect 0
holds "np.array_equal(h5py.File('scan.h5')['entry/data'][:], scan) and h5py.File('scan.h5')['entry/data'].compression == 'gzip'"
holds "list(h5py.File('scan.h5')['entry/data'].attrs['element_size_um']) == [2, 1, 0.5]"
run info --header --json scan.h5:/entry/data; expect 0; same "$(json 'd["spacing"], d["unit"], d["format"]')" "[2, 1, 0.5] um hdf5"
run convert scan.npy told.nrrd --dtype f32 --spacing 2,1,0.5,mm --json; expect 0; no_err
same "$(json 'd["path"], d["format"], d["shape"], d["type"], d["spacing"], d["unit"]')" "told.nrrd nrrd [5, 6, 7] f32 [2, 1, 0.5] mm"
run convert scan.npy levels.zarr --levels 2 --json; expect 0; same "$(json 'd["format"], d["spacing"]')" "zarr None"
run info levels.zarr/1 --json; expect 0; same "$(json 'd["shape"]')" "[3, 3, 4]"
# Files of chunks that aren't there are said, in either version; so are further images, of which the first is read.
for version in zarr zarr3; do
    run convert scan.npy "half.$version.zarr" --format $version; expect 0
    run info "half.$version.zarr"; no_err
    find "half.$version.zarr/0" -type f ! -name '*zarr*' -delete
    run convert "half.$version.zarr" nothing.npy; expect 0; err '^half.*: 100 % of its (chunks|shards). files aren.t there; their voxels read as 0'
    rm nothing.npy
done
mkdir series.zarr; cp -r levels.zarr series.zarr/0; cp -r levels.zarr series.zarr/1; echo '{"zarr_format": 2}' >series.zarr/.zgroup
run info series.zarr; expect 0; err '^series.zarr holds several images: the first is read; series.zarr/1 is the next one$'
run info series.zarr/1; expect 0; no_err
run info levels.zarr/2; expect 1; err '^credence: levels.zarr has no level 2; it has 0 to 1$'
run info levels.tif/2; expect 1; err '^credence: levels.tif/2 can.t be opened'
run convert scan.h5:/entry/data scan.raw; expect 0; holds "np.array_equal(np.fromfile('scan.raw', '<u2').reshape(scan.shape), scan)"
run convert scan.npy big.raw --dtype u16be; expect 0; holds "np.array_equal(np.fromfile('big.raw', '>u2').reshape(scan.shape), scan)"
run convert scan.raw again.npy; expect 0; holds "np.array_equal(np.load('again.npy'), scan)" # by its sidecar
rm -f scan.raw.json big.raw.json
run convert big.raw again.npy --shape 5,6,7 --type u16be; expect 0; holds "np.array_equal(np.load('again.npy'), scan)"
run convert big.raw again.npy; expect 1; err '^credence: .*big\.raw.*--shape'
run convert scan.npy odd.h --format .H5; expect 0; holds "np.array_equal(h5py.File('odd.h')['data'], scan)"
run convert scan.npy odd.suffix --format raw; expect 0; holds "np.array_equal(np.fromfile('odd.suffix', '<u2').reshape(scan.shape), scan)"

# Types: rounded and clamped. --type means the output where the input says its own.
run convert real.npy bytes.npy --dtype u8; expect 0; err '^credence: warning: '
holds "list(np.load('bytes.npy').ravel()) in ([0, 0, 1, 254, 255, 128], [0, 0, 1, 255, 255, 128]) and np.load('bytes.npy').dtype == np.uint8"
run convert scan.npy float.npy --type f32; expect 0; holds "np.array_equal(np.load('float.npy'), scan.astype(np.float32)) and np.load('float.npy').dtype == np.float32"
run convert big.raw float.npy --shape 5,6,7 --type u16be --dtype f64; expect 0; holds "np.array_equal(np.load('float.npy'), scan.astype(np.float64))"

# A box, whose place formats keep that can; raw data, whose type is still said; what isn't there.
run convert scan.h5:/entry/data part.nrrd --bbox 1:4,0:6,2:5; expect 0; no_out; no_err
run info --json --header part.nrrd; same "$(json 'd["shape"], d["origin"], d["spacing"]')" "[3, 6, 3] [1, 0, 2] [2, 1, 0.5]"
run convert part.nrrd part.npy; expect 0; holds "np.array_equal(np.load('part.npy'), scan[1:4, :, 2:5])"
run convert big.raw part.npy --shape 5,6,7 --type u16be --bbox 4:5,5:6,0:7; expect 0
holds "np.array_equal(np.load('part.npy'), scan[4:, 5:]) and np.load('part.npy').dtype == np.uint16"
run convert scan.npy none.npy --bbox 0:5,0:7,0:7; expect 1; err '^credence: bbox asks for y from 0 to 7; it must lie in 0:6'; [ ! -e none.npy ] || complain "a box was made up"
run convert scan.npy none.npy --bbox 0:5,0:7; expect 2; err 'bbox must be z0:z1,y0:y1,x0:x1'

# Slices: a file for each, in a folder of their own; told from others' by a pattern.
run convert told.nrrd 'cut/s_*.tif' --dtype u16; expect 0; no_out; same "$(ls cut | tr '\n' ' ')" "s_0000.tif s_0001.tif s_0002.tif s_0003.tif s_0004.tif "
run info --json --header cut; same "$(json 'd["format"], d["shape"], d["spacing"], d["unit"]')" "tiff [5, 6, 7] [2, 1, 0.5] mm"
run convert 'cut/s_*.tif' again.npy; expect 0; holds "np.array_equal(np.load('again.npy'), scan)"
/usr/bin/python3 -c '
import glob, numpy as np, tifffile
names = sorted(glob.glob("cut/*.tif")); scan = np.load("scan.npy")
assert all(np.array_equal(tifffile.imread(n), scan[i]) and len(tifffile.TiffFile(n).pages) == 1 for i, n in enumerate(names))' || complain "slices aren't what tifffile reads"
mkdir empty; run convert scan.npy empty/ --bbox 1:4,0:6,0:7 --compress 3 --json; expect 0; same "$(json 'd["path"], d["shape"], d["origin"]')" "empty/ [3, 6, 7] [1, 0, 0]"
same "$(ls empty | tr '\n' ' ')" "slice_0000.tif slice_0001.tif slice_0002.tif "
ls -A > were
run convert scan.npy empty/; expect 1; err '^credence: empty/ is there already'
run convert scan.npy 'new/s_*.h5'; expect 1; err 'slices are written as TIFF, under a name with one \* for their number'
run convert scan.npy 'new/s_*_*.tif'; expect 1; err 'with one \* for their number'
run convert scan.npy 's_*.tif'; expect 1; err 'names no folder for the slices; give one'
run convert scan.npy 'no/such/s_*.tif'; expect 1; err 'no folder'
run convert scan.npy folder; expect 1; err 'or a name that ends in / for a folder of slices'
( ulimit -f 1; trap '' XFSZ; "$CREDENCE_PROGRAM" convert scan.npy full/ --dtype f64 --factor 4 >out 2>err ); code=$?; expect 1
ls -A > are; sed -i '/^are$/d' are; cmp -s were are || complain "files left: $(comm -13 were are)"

# Other voxels: means, values between, classes; by a factor or by their edges.
run convert scan.npy half.npy --factor 1/2; expect 0; no_err
holds "np.array_equal(np.load('half.npy')[:2, :, :3], np.rint(scan[:4, :, :6].reshape(2, 2, 3, 2, 3, 2).astype(float).mean((1, 3, 5)))) and np.load('half.npy').shape == (3, 3, 4)"
run convert scan.npy flat.npy --factor 1,0.5,0.5 --dtype f64; expect 0; holds "np.load('flat.npy').shape == (5, 3, 4)"
run convert told.nrrd edges.nrrd --new-spacing 2,2,2,mm; expect 0; run info --json --header edges.nrrd; same "$(json 'd["shape"], d["spacing"]')" "[5, 3, 2] [2, 2, 2]"
run convert told.nrrd twice.npy --bbox 1:2,0:6,0:7 --factor 1,1,2; expect 0
holds "np.allclose(np.load('twice.npy')[0, :, 1:-1], np.stack([0.75 * scan[1, :, :-1] + 0.25 * scan[1, :, 1:], 0.25 * scan[1, :, :-1] + 0.75 * scan[1, :, 1:]], 2).reshape(6, 12))"
/usr/bin/python3 -c 'import numpy as np; np.save("class.npy", np.random.default_rng(3).integers(0, 3, (5, 6, 7), dtype=np.uint8))'
run convert class.npy major.npy --factor 1/3; expect 0; err '^class.npy seems to hold classes, so voxels are joined by majority'
holds "np.load('major.npy')[0, 0, 0] == np.bincount(np.load('class.npy')[:3, :3, :3].ravel()).argmax() and np.load('major.npy').max() <= 2"
run convert scan.npy placed.npy --bbox 2:4,0:6,2:6 --factor 1/2; expect 0; no_err
run convert scan.npy placed.npy --bbox 1:3,0:6,2:6 --factor 1/2; expect 0; err 'its place there isn.t kept'
run convert class.npy near.npy --factor 3 --by nearest; expect 0; no_err; holds "np.array_equal(np.load('near.npy')[1::3, 1::3, 1::3], np.load('class.npy'))"
run convert class.npy mean.npy --factor 1/5,1/6,1/7 --by mean --dtype f32; expect 0; no_err; holds "np.load('mean.npy').shape == (1, 1, 1)"
run convert scan.npy none.npy --factor 0; expect 2; err '--factor must be a number above 0 or z,y,x'
for wrong in 1/0 nan 1,2 2,2,2,2 x 1/ 1e400; do run convert scan.npy none.npy --factor "$wrong"; expect 2; done
run convert scan.npy none.npy --factor 2 --new-spacing 1,1,1; expect 2; err 'say the same in two ways'
run convert scan.npy none.npy --new-spacing 1,1,1,um; expect 1; err 'give --spacing, or --factor'
run convert told.nrrd none.npy --new-spacing 1,1,1,um; expect 1; err 'new-spacing is in um and told.nrrd in mm'
[ ! -e none.npy ] || complain "something was made of nonsense"

# Fortran order, in pieces where columns are long.
/usr/bin/python3 -c '
import numpy as np
np.save("tall.npy", np.asfortranarray(np.arange(3 * 2 * 1500000, dtype=np.uint32).reshape(1500000, 2, 3)))'
run convert tall.npy tall.raw; expect 0; /usr/bin/python3 -c '
import numpy as np
assert np.array_equal(np.fromfile("tall.raw", np.uint32), np.arange(3 * 2 * 1500000, dtype=np.uint32))' || complain "Fortran order"
rm tall.npy tall.raw tall.raw.json

# A header's claim alone takes no memory: slices beyond the machine's, of a volume without a single chunk.
mkdir -p claim.zarr/0; echo '{"multiscales": [{"datasets": [{"path": "0"}]}]}' > claim.zarr/.zattrs
echo '{"zarr_format": 2, "shape": [1, 900000, 900000], "chunks": [1, 64, 64], "dtype": "|u1", "compressor": null, "fill_value": 0, "order": "C", "filters": null}' > claim.zarr/0/.zarray
run convert claim.zarr claim.nii.gz; expect 1; err '^credence: slices of claim.zarr need 2[0-9]+\.[0-9] GiB at once'; [ ! -e claim.nii.gz ] || complain "something was written"

# Where somebody has put a link in the temporary file's place, nothing is written through it.
for suffix in tif npy h5 nrrd nii.gz; do
    (ln -sf "$folder/victim" ".planted.$suffix.tmp.$BASHPID.0"; exec "$CREDENCE_PROGRAM" convert scan.npy "planted.$suffix" 2>/dev/null)
    [ ! -e victim ] && [ ! -L "planted.$suffix" ] || complain "written through a link to planted.$suffix"
done
rm -f .planted* planted*

# Every suffix that the help names is in the page about formats, too, and is written and read again, or refused for want of a
# library; the sentence about a suffix that nobody knows names those that are written, and no others.
run convert --help
named=$(tr '\n' ' ' <"$folder/out" | sed 's/.*follows its suffix: \(.*\)\. A name that ends.*/\1/' | grep -oE '(\.[a-z0-9]+)+' | grep -v '^\.h5:' | sort -u)
run convert scan.npy refused.foo; expect 1; err 'use one of (\.[a-z0-9.]+ )+'
offered=$(sed 's/.*use one of \([^,]*\),.*/\1/' "$folder/err" | tr ' ' '\n' | sort)
written=
for suffix in $(sort -u <<<"$named"$'\n'"$offered"); do
    run convert scan.npy "of_${suffix//./_}$suffix"
    if [ "$code" -ne 0 ]; then err 'was built without'; continue; fi
    written+=$suffix$'\n'
    run convert "of_${suffix//./_}$suffix" again.npy; expect 0; holds "np.array_equal(np.load('again.npy'), scan)"
done
same "$offered" "${written%$'\n'}"
for suffix in $named; do grep -qF "\`$suffix\`" "$CREDENCE_SOURCE/docs/FORMATS.md" || complain "the page about formats lacks $suffix"; done
[ "$(wc -l <<<"$named")" -ge 12 ] || complain "the help names only $named"
rm -rf of_*

# What can't be done leaves nothing behind, not even a temporary file.
ls -A >"$folder/before"
run convert scan.npy "$folder/no/such/folder.npy"; expect 1; err '^credence: '
run convert absent.npy out.npy; expect 1; err '^credence: absent\.npy'
run convert scan.npy out.unknown; expect 1; err '^credence: .*out\.unknown'
run convert scan.npy out.npy --format nonsense; expect 2; err "--format must be a format \\(.*\\) or the suffix of its files, such as .nii.gz, not 'nonsense'"
run convert scan.npy out.nii --format .IMG; expect 2; err "--format can.t be .img: credence reads .img files and doesn.t write them; choose .nii"
run convert scan.npy out.npy --format .mhd; expect 1; err 'out.npy: a file of the kind .mhd must be called so'
( ulimit -f 1; trap '' XFSZ; "$CREDENCE_PROGRAM" convert scan.npy out.npy --dtype f64 >out 2>err ); code=$?
expect 1; err '^credence: .*out\.npy'
ls -A >"$folder/after"; sed -i '/^after$/d' "$folder/after"
cmp -s "$folder/before" "$folder/after" || complain "files left: $(comm -13 "$folder/before" "$folder/after")"

# A file that is there is replaced as a whole.
run convert real.npy copy.npy; expect 0; holds "np.load('copy.npy').shape == (1, 1, 6)"
finish
