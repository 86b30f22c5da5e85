/* A plugin of QEMU's user-mode emulators (its plugin interface, version 1): counts the instructions that a program
 * runs, and on aarch64 the products among them. Built by benchmarks.instructions; the interface is declared here, as
 * few systems carry its header.
 *
 * Encodings: Arm Architecture Reference Manual, C7.2: SDOT (vector, by element), FMLA (vector, by element).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define ADD_U64 0

struct block;
struct instruction;
struct information {
    const char *target;
};

size_t qemu_plugin_tb_n_insns(const struct block *);
struct instruction *qemu_plugin_tb_get_insn(const struct block *, size_t);
const void *qemu_plugin_insn_data(const struct instruction *);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t, void (*)(uint64_t, struct block *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct block *, int, void *, uint64_t);
void qemu_plugin_register_atexit_cb(uint64_t, void (*)(uint64_t, void *), void *);

EXPORT int qemu_plugin_version = 1;

static uint64_t instructions, sdot, fmla;
static int counts_products;

static void translated(uint64_t id, struct block *block)
{
    size_t count = qemu_plugin_tb_n_insns(block);
    uint64_t of_sdot = 0, of_fmla = 0;
    for (size_t place = 0; counts_products && place < count; place++) {
        uint32_t word;
        memcpy(&word, qemu_plugin_insn_data(qemu_plugin_tb_get_insn(block, place)), sizeof word);
        of_sdot += (word & 0xBFE0FC00) == 0x0E809400 || (word & 0xBFC0F400) == 0x0F80E000;
        of_fmla += (word & 0xBFA0FC00) == 0x0E20CC00 || (word & 0xBFC0F400) == 0x0F801000;
    }
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &instructions, count);
    if (of_sdot)
        qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &sdot, of_sdot);
    if (of_fmla)
        qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &fmla, of_fmla);
}

static void ended(uint64_t id, void *nothing)
{
    fprintf(stderr, "\ncounted %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", instructions, sdot, fmla);
}

EXPORT int qemu_plugin_install(uint64_t id, const struct information *information, int count, char **arguments)
{
    counts_products = !strcmp(information->target, "aarch64");
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
