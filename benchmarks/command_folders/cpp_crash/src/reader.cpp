#include "graph.h"

void read_graph(const char* path, Graph& graph) {
  FILE* file = fopen(path, "r");
  check(file != nullptr, "cannot read the model");
  char line[256];
  while (fgets(line, sizeof line, file)) {
    char* kind = strtok(line, " \n");
    if (!kind || kind[0] == '#') continue;
    if (!strcmp(kind, "input")) {
      while (char* word = strtok(nullptr, " \n")) graph.input.shape[graph.input.rank++] = atoi(word);
    } else if (!strcmp(kind, "node")) {
      strncpy(graph.nodes[graph.count++], strtok(nullptr, " \n"), 31);
    } else {
      check(false, "unknown line in the model");
    }
  }
  fclose(file);
}
