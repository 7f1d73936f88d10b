#include "graph.h"
#include "ops.h"

int main(int argc, char** argv) {
  register_all();
  Graph graph;
  read_graph(argc > 1 ? argv[1] : "data/model.txt", graph);
  Tensor out = run_graph(graph);
  printf("mean %f of %d values\n", mean(out), out.count);
  return 0;
}
