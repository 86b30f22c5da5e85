#!/usr/bin/env bash
# Makes a folder with Python 3.11, LiteRT and ONNX Runtime for aarch64, which an emulator in user mode runs:
#
#     make_aarch64.sh FOLDER PYTHON [REQUIREMENTS]
#
# On Debian 12 or Ubuntu with apt's lists for arm64; it needs no rights and installs nothing outside of FOLDER. PYTHON
# fetches the wheels, in the versions and with the digests of REQUIREMENTS, or in the versions that it has itself.
set -euo pipefail

folder=$(realpath -m "$1") python=$2 requirements=${3:+$(realpath "$3")}
packages=(python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libc6 libexpat1 zlib1g libgcc-s1 libstdc++6
  libffi8 libssl3 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 libcrypt1 libgomp1 libatomic1)
wheels='ai-edge-litert|backports-strenum|flatbuffers|numpy|onnxruntime|packaging|protobuf|tqdm|typing-extensions'

rm -rf "$folder"
mkdir -p "$folder"/{apt/lists/partial,apt/cache/archives/partial,debs,sysroot,site}
touch "$folder/apt/status"
apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$folder/apt"
  -o Dir::State::status="$folder/apt/status" -o Dir::Cache="$folder/apt/cache" -o APT::Sandbox::User="$(id -un)")
"${apt[@]}" update
(cd "$folder/debs" && "${apt[@]}" download "${packages[@]}")
for deb in "$folder"/debs/*.deb; do dpkg --extract "$deb" "$folder/sysroot"; done
if [ -n "$requirements" ]; then
  awk -v wheels="^($wheels)==" '/^[^ ]/ { ours = $0 ~ wheels } ours' "$requirements" > "$folder/requirements.txt"
  hashes=(--require-hashes)
else
  "$python" -m pip list --format=freeze | grep -E "^(${wheels//-/[-_.]})==" > "$folder/requirements.txt"
  hashes=()
fi
platforms=(manylinux_2_17_aarch64 manylinux2014_aarch64 manylinux_2_27_aarch64 manylinux_2_28_aarch64)
"$python" -m pip install --quiet --no-deps --only-binary=:all: "${platforms[@]/#/--platform=}" --python-version 3.11 \
  --implementation cp --target "$folder/site" "${hashes[@]}" --requirement "$folder/requirements.txt"

# LiteRT asks the system for caches, and those of the machine that emulates it are not such as an aarch64 has: it ends
# with a fault. What lies in the root comes before what the machine has. One core as of a Neoverse N1;
# emulators.py writes the cpuinfo of others.
cpu="$folder/sysroot/sys/devices/system/cpu"
mkdir -p "$cpu"/cpu0/cache/index{0,1,2,3} "$folder/sysroot/proc"
for file in possible present online; do echo 0 > "$cpu/$file"; done
levels=("Data 1 64K" "Instruction 1 64K" "Unified 2 1024K" "Unified 3 4096K")
for number in 0 1 2 3; do
  read -r kind level size <<< "${levels[$number]}"
  cache="$cpu/cpu0/cache/index$number"
  echo "$kind" > "$cache/type"; echo "$level" > "$cache/level"; echo "$size" > "$cache/size"
  echo 0 > "$cache/shared_cpu_list"; echo 1 > "$cache/shared_cpu_map"; echo 64 > "$cache/coherency_line_size"
  echo 4 > "$cache/ways_of_associativity"; echo 256 > "$cache/number_of_sets"; echo 1 > "$cache/physical_line_partition"
done
cat > "$folder/sysroot/proc/cpuinfo" <<'CPU'
processor	: 0
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x3
CPU part	: 0xd0c
CPU revision	: 1
CPU
rm -rf "$folder"/{apt,debs}
touch "$folder/.ready"
