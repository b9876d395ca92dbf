/* What a communicator is for, by what layouts of real jobs look like; and what links are expected to give. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/model/comm_roles.h"
#include "analysis/model/link_bus.h"

#define MIB 1048576.0

static struct comm_profile with(int32_t nranks, int32_t stride, enum tr_coll_op op, uint64_t instances, double each)
{
    struct comm_profile profile = {.nranks = nranks, .world = 64, .stride = stride};
    profile.instances[op] = instances;
    profile.bytes[op] = (double)instances * each;
    return profile;
}

static void is_role(struct comm_profile profile, const char *role)
{
    struct comm_role is = comm_role(&profile);
    if (!role) {
        assert_null(is.name);
        assert_true(isnan(is.confidence));
        return;
    }
    assert_non_null(is.name);
    assert_string_equal(is.name, role);
    assert_true(is.confidence > 0 && is.confidence <= 1);
}

static void layouts_of_real_jobs(void **state)
{
    is_role(with(64, 1, TR_coll_op_AllReduce, 100, 25 * MIB), "DP"); /* DDP over all */
    is_role(with(8, 8, TR_coll_op_ReduceScatter, 100, 25 * MIB), "DP");
    struct comm_profile tensor = with(8, 1, TR_coll_op_AllReduce, 9000, 8 * MIB);
    is_role(tensor, "DP"); /* a job of several shards, for all that is known */
    tensor.crossed = true;
    is_role(tensor, "TP");
    is_role(with(4, 16, TR_coll_op_Send, 1000, 4 * MIB), "PP");
    struct comm_profile all_to_all = with(8, 1, TR_coll_op_Send, 1000, MIB);
    all_to_all.far = 700;
    is_role(all_to_all, "EP");
    is_role(with(8, 1, TR_coll_op_AlltoAll, 1000, MIB), "EP");
    is_role(with(64, 1, TR_coll_op_AllReduce, 100, 4), NULL); /* barriers */
    is_role(with(1, 0, TR_coll_op_AllReduce, 100, MIB), NULL);
    is_role(with(6, 0, TR_coll_op_AllReduce, 100, MIB), NULL); /* ranks in no order */
}

static void names_of_frameworks(void **state)
{
    static const struct {
        const char *name, *role;
    } names[] = {{"tp", "TP"},
                 {"TENSOR_MODEL_PARALLEL_GROUP", "TP"},
                 {"mesh_pp", "PP"},
                 {"EXPERT_MODEL_PARALLEL_GROUP", "EP"},
                 {"DATA_PARALLEL_GROUP_WITH_CP", "DP"},
                 {"http", NULL},
                 {"default_pg", NULL}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct comm_profile profile = {.name = names[i].name, .nranks = 4, .world = 8};
        is_role(profile, names[i].role);
    }
}

static void links(void **state)
{
    double sxm = link_bus("P2P", "NVIDIA H100 80GB HBM3"), pcie = link_bus("P2P", "NVIDIA H100 PCIe");
    assert_true(sxm > 5 * pcie && pcie > 0);
    assert_true(link_bus("P2P", "NVIDIA A100-SXM4-80GB") < sxm);
    assert_true(link_bus("P2P", "NVIDIA H800") < sxm);
    assert_true(link_bus("P2P", "NVIDIA H200") == sxm);
    assert_true(link_bus("SHM", "anything") > 0);
    assert_true(isnan(link_bus("NET/IB", "NVIDIA H100 80GB HBM3")));
    assert_true(isnan(link_bus(NULL, "NVIDIA H200")));
    assert_true(isnan(link_bus("P2P", NULL)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_of_real_jobs),
        cmocka_unit_test(names_of_frameworks),
        cmocka_unit_test(links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
