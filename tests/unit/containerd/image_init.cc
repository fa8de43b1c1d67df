// The only program of the contract suite's image: "init pause" waits to be killed, "init N" exits with N.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  while (strcmp(argv[1], "pause") == 0) pause();
  return atoi(argv[1]);
}
