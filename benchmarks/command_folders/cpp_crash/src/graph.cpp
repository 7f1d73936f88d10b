#include "graph.h"

#include "ops.h"

Tensor run_graph(const Graph& graph) {
  Tensor tensor = graph.input;
  allocate(tensor);
  for (int i = 0; i < tensor.count; ++i) tensor.data[i] = float(i) / tensor.count;
  for (int i = 0; i < graph.count; ++i) {
    const Op* op = Registry::instance().find(graph.nodes[i]);
    fprintf(stderr, "running %s\n", graph.nodes[i]);
    op->run(tensor);
  }
  return tensor;
}
