#pragma once
#include "tensor.h"

struct Graph {
  Tensor input;
  char nodes[32][32];
  int count = 0;
};

void read_graph(const char* path, Graph& graph);
Tensor run_graph(const Graph& graph);
