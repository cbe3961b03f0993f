/* The libraries of the choice test, one for each PART. */
#define CONCATENATE(a, b) a##b
#define NAME(a, b) CONCATENATE(a, b)
#ifndef STATELESS
static int counter;
#endif
#ifdef USES_MPI
int MPI_Initialized(int*) __attribute__((weak));
#endif
#ifdef USES_VARIABLE
extern int variable_of_used;
#endif
#ifdef USES_PROGRAM
extern int variable_of_program;
#endif
#ifdef CALLS
int call_called(void);
#endif
#ifdef DEFINES_VARIABLE
int variable_of_used = 1;
#endif

int NAME(call_, PART)(void);
int NAME(call_, PART)(void) {
  int result = 0;
#ifndef STATELESS
  result += ++counter;
#endif
#ifdef USES_MPI
  if (MPI_Initialized) MPI_Initialized(&result);
#endif
#ifdef USES_VARIABLE
  result += variable_of_used;
#endif
#ifdef USES_PROGRAM
  result += variable_of_program;
#endif
#ifdef CALLS
  result += call_called();
#endif
  return result;
}
