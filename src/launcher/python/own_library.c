/* The search for the environment's libpython. Nothing of the C library or of the MPI library has
 * been initialized when this runs, environ neither: system calls are made by their numbers, and
 * texts are put together by hand. */
#define PY_SSIZE_T_CLEAN
#include "own_library.h"

#include <Python.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT_OF(x) #x
#define NUMBER(x) TEXT_OF(x)

enum { kPathBytes = 4096, kListBytes = 4 * kPathBytes };

static const char kLibrary[] =
    "libpython" NUMBER(PY_MAJOR_VERSION) "." NUMBER(PY_MINOR_VERSION) ".so.1.0";
/* Where interpreters have it, from the folder of their programs: most; Fedora; Debian. */
static const char* const kFolders[] = {"/../lib", "/../lib64",
#if defined(__x86_64__)
                                       "/../lib/x86_64-linux-gnu"
#else
                                       "/../lib/aarch64-linux-gnu"
#endif
};
static const char kPath[] = "LD_LIBRARY_PATH=";
/* Holds LD_LIBRARY_PATH as it was before, while the program is executed anew. */
static const char kBefore[] = "FINEGRAIN_LIBRARY_PATH_BEFORE=";
/* Has the number of the process that has been executed anew. It stays, as the constructors of each
 * rank's copy of the program run, too; a process that this one starts has another number. */
static const char kProcess[] = "FINEGRAIN_PYTHON_PROCESS=";

/* A text that is never longer than its buffer: `full` says that something did not fit. */
struct Text {
  char* bytes;
  size_t size, length;
  int full;
};

static void append(struct Text* text, const char* more, size_t length) {
  if (text->length + length >= text->size) {
    text->full = 1;
    return;
  }
  memcpy(text->bytes + text->length, more, length);
  text->length += length;
  text->bytes[text->length] = 0;
}

static void append_all(struct Text* text, const char* more) { append(text, more, strlen(more)); }

/* Finds a variable, as the index of "NAME=value" in envp; -1 where there is none. */
static int find_variable(char** envp, const char* name) {
  for (int i = 0; envp[i]; ++i)
    if (strncmp(envp[i], name, strlen(name)) == 0) return i;
  return -1;
}

static void remove_variable(char** envp, int index) {
  for (; envp[index]; ++index) envp[index] = envp[index + 1];
}

/* Gives LD_LIBRARY_PATH the value that it had before the program was executed anew: programs that
 * Python starts must not search the folders of this one. The dynamic linker has read it already. */
static void restore_path(char** envp, int before) {
  char* value = envp[before] + sizeof kBefore - 1;
  const int path = find_variable(envp, kPath);
  if (path >= 0 && *value) {
    /* "NAME=value" of the longer name has room for that of the shorter one. */
    char* start = value - (sizeof kPath - 1);
    memcpy(start, kPath, sizeof kPath - 1);
    envp[path] = start;
  } else if (path >= 0) {
    remove_variable(envp, path);
    before = find_variable(envp, kBefore);
  }
  remove_variable(envp, before);
}

/* The value of a key in the text of pyvenv.cfg ("key = value" a line), and its length; NULL where
 * the key is missing. */
static const char* find_value(const char* text, const char* key, size_t* length) {
  for (const char* line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
    if (strncmp(line, key, strlen(key)) != 0) continue;
    const char* value = line + strlen(key);
    value += strspn(value, " ");
    if (*value != '=') continue;
    ++value;
    value += strspn(value, " ");
    *length = strcspn(value, "\r\n");
    return value;
  }
  return NULL;
}

/* Is a release such as "3.11.7" or "3.11.7.final.0" that of the libpython inside? */
static int is_release_inside(const char* release, size_t length) {
  const char inside[] =
      NUMBER(PY_MAJOR_VERSION) "." NUMBER(PY_MINOR_VERSION) "." NUMBER(PY_MICRO_VERSION);
  const size_t wanted = sizeof inside - 1;
  return length >= wanted && memcmp(release, inside, wanted) == 0 &&
         (length == wanted || release[wanted] == '.');
}

static void warn(const char* release, size_t length) {
  char bytes[512];
  struct Text text = {bytes, sizeof bytes, 0, 0};
  append_all(&text, "fgmpi-python: the environment's Python ");
  append(&text, release, length < 32 ? length : 32);
  append_all(&text, " has no shared library, and the one that is used instead is " PY_VERSION
                    ": compiled modules may not fit; allowed is Python " PY_VERSION
                    ", or one that is built with --enable-shared\n");
  syscall(SYS_write, STDERR_FILENO, bytes, text.length);
}

/* Writes kProcess with the number of this process. */
static void write_process(char* bytes, size_t size) {
  struct Text text = {bytes, size, 0, 0};
  append_all(&text, kProcess);
  long number = syscall(SYS_getpid), power = 1;
  while (power <= number / 10) power *= 10;
  for (; power; power /= 10) {
    const char digit = (char)('0' + number / power % 10);
    append(&text, &digit, 1);
  }
}

/* Executes the program with envp, in which kProcess, LD_LIBRARY_PATH and kBefore become the three
 * given ones; those that are NULL stay as they are. Returns where that is not possible. */
static void execute_anew(const char* program, char** argv, char** envp, char** given) {
  static const char* const kNames[] = {kProcess, kPath, kBefore};
  char* changed[kPathBytes];
  int to = 0;
  for (char** variable = envp; *variable; ++variable) {
    if (to + 4 >= kPathBytes) return;
    int kept = 1;
    for (int i = 0; i < 3; ++i)
      kept = kept && !(given[i] && strncmp(*variable, kNames[i], strlen(kNames[i])) == 0);
    if (kept) changed[to++] = *variable;
  }
  for (int i = 0; i < 3; ++i)
    if (given[i]) changed[to++] = given[i];
  changed[to] = NULL;
  syscall(SYS_execve, program, argv, changed);
}

void use_own_library(int argc, char** argv, char** envp) {
  (void)argc;
  char process[64];
  write_process(process, sizeof process);
  const int done = find_variable(envp, kProcess), before = find_variable(envp, kBefore);
  if (done >= 0 && strcmp(envp[done], process) == 0) {
    if (before >= 0) restore_path(envp, before);
    return;
  }
  char program[kPathBytes], file[kPathBytes], settings[kPathBytes];
  const long got = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, sizeof program - 1);
  if (got <= 0) return;
  program[got] = 0;
  const size_t folder = (size_t)(strrchr(program, '/') - program);
  struct Text name = {file, sizeof file, 0, 0};
  append(&name, program, folder);
  append_all(&name, "/../pyvenv.cfg");
  const int opened =
      name.full ? -1 : (int)syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC, 0);
  if (opened < 0) return; /* no virtual environment */
  const long read = syscall(SYS_read, opened, settings, sizeof settings - 1);
  syscall(SYS_close, opened);
  if (read <= 0) return;
  settings[read] = 0;

  size_t home_length = 0, release_length = 0;
  const char* home = find_value(settings, "home", &home_length);
  const char* release = find_value(settings, "version_info", &release_length);
  if (!release) release = find_value(settings, "version", &release_length);
  if (!home) return;
  for (size_t i = 0; i < sizeof kFolders / sizeof *kFolders; ++i) {
    char path[kListBytes], saved[kListBytes];
    name.length = 0, name.full = 0;
    append(&name, home, home_length);
    append_all(&name, kFolders[i]);
    const size_t own = name.length;
    append_all(&name, "/");
    append_all(&name, kLibrary);
    if (name.full || syscall(SYS_faccessat, AT_FDCWD, file, R_OK) != 0) continue;

    /* The user's folders, those of this installation, which must not come from the interpreter's
     * folder (it may have another MPI), and then that one. */
    const int index = find_variable(envp, kPath);
    const char* old = index >= 0 ? envp[index] + sizeof kPath - 1 : "";
    struct Text list = {path, sizeof path, 0, 0}, kept = {saved, sizeof saved, 0, 0};
    append_all(&kept, kBefore);
    append_all(&kept, old);
    append_all(&list, kPath);
    append_all(&list, old);
    append_all(&list, *old ? ":" : "");
    append(&list, program, folder);
    append_all(&list, "/../lib:");
    append(&list, program, folder);
    append_all(&list, "/../lib/fgmpi/libraries:");
    append(&list, file, own);
    if (!list.full && !kept.full)
      execute_anew(program, argv, envp, (char*[]){process, path, saved});
    return; /* the library inside may do */
  }
  if (!release || is_release_inside(release, release_length)) return;
  warn(release, release_length);
  execute_anew(program, argv, envp,
               (char*[]){process, NULL, NULL}); /* so that ranks do not warn again */
}
