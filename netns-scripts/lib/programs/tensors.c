// A client of llama.cpp's RPC server: a small network of two layers whose weights are there, and
// whose inputs come from here. Prints what it computes: `tensors ENDPOINT`.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-rpc.h"
#include "ggml.h"

enum { SIZE = 1024, COLUMNS = 64, ROUNDS = 50, TENSORS = 16 };

static uint32_t state = 1;

// Values between -1 and 1, the same in each run.
static void fill(struct ggml_tensor *tensor) {
    size_t count = ggml_nelements(tensor);
    float *values = malloc(count * sizeof *values);
    for (size_t at = 0; at < count; at++) {
        state = state * 1664525 + 1013904223;
        values[at] = (float)(state >> 8) / (1 << 23) - 1;
    }
    ggml_backend_tensor_set(tensor, values, 0, count * sizeof *values);
    free(values);
}

static uint64_t checksum(const struct ggml_tensor *tensor) {
    size_t size = ggml_nbytes(tensor);
    unsigned char *bytes = malloc(size);
    ggml_backend_tensor_get(tensor, bytes, 0, size);
    uint64_t sum = 14695981039346656037u;
    for (size_t at = 0; at < size; at++) sum = (sum ^ bytes[at]) * 1099511628211u;
    free(bytes);
    return sum;
}

int main(int count, char **words) {
    ggml_backend_t backend = count > 1 ? ggml_backend_rpc_init(words[1], 0) : NULL;
    if (!backend) return fprintf(stderr, "no server\n"), 1;
    struct ggml_init_params params = {
        .mem_size = TENSORS * ggml_tensor_overhead() + ggml_graph_overhead(), .no_alloc = true};
    struct ggml_context *context = ggml_init(params);
    struct ggml_tensor *first = ggml_new_tensor_2d(context, GGML_TYPE_F32, SIZE, SIZE);
    struct ggml_tensor *second = ggml_new_tensor_2d(context, GGML_TYPE_F32, SIZE, SIZE);
    struct ggml_tensor *input = ggml_new_tensor_2d(context, GGML_TYPE_F32, SIZE, COLUMNS);
    struct ggml_tensor *hidden = ggml_silu(context, ggml_mul_mat(context, first, input));
    struct ggml_tensor *output = ggml_mul_mat(context, second, hidden);
    struct ggml_cgraph *graph = ggml_new_graph(context);
    ggml_build_forward_expand(graph, output);
    if (!ggml_backend_alloc_ctx_tensors(context, backend)) return fprintf(stderr, "no memory\n"), 1;
    fill(first);
    fill(second);
    for (int round = 0; round < ROUNDS; round++) {
        fill(input);
        if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) return 1;
        printf("%d: %016llx\n", round, (unsigned long long)checksum(output));
    }
    ggml_free(context);
    ggml_backend_free(backend);
}
