/* An extension module for tests: MPI on objects with a buffer (array.array, numpy arrays of
 * doubles). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <mpi.h>

static int calls; /* of this rank's module */

static PyObject* failed(const char* call) {
  return PyErr_Format(PyExc_RuntimeError, "%s failed", call);
}

static PyObject* number(int (*get)(MPI_Comm, int*)) {
  int value;
  return get(MPI_COMM_WORLD, &value) ? failed("MPI") : PyLong_FromLong(value);
}
static PyObject* rank(PyObject* self, PyObject* none) { return number(MPI_Comm_rank); }
static PyObject* size(PyObject* self, PyObject* none) { return number(MPI_Comm_size); }
static PyObject* is_thread_main(PyObject* self, PyObject* none) {
  int flag;
  MPI_Is_thread_main(&flag);
  return PyBool_FromLong(flag);
}
static PyObject* count(PyObject* self, PyObject* none) { return PyLong_FromLong(calls); }

/* doubles(buffer), or an error: the caller releases the view. */
static int doubles(PyObject* object, Py_buffer* view, int* n) {
  if (PyObject_GetBuffer(object, view, PyBUF_CONTIG | PyBUF_FORMAT)) return -1;
  *n = (int)(view->len / (Py_ssize_t)sizeof(double));
  if (view->itemsize == sizeof(double) && view->format && view->format[0] == 'd') return 0;
  PyBuffer_Release(view);
  PyErr_SetString(PyExc_TypeError, "allowed is an array of doubles");
  return -1;
}

static PyObject* transfer(PyObject* arguments, int sends) {
  PyObject* object;
  int other, n, result;
  Py_buffer view;
  if (!PyArg_ParseTuple(arguments, "Oi", &object, &other) || doubles(object, &view, &n))
    return NULL;
  ++calls;
  Py_BEGIN_ALLOW_THREADS result =
      sends ? MPI_Send(view.buf, n, MPI_DOUBLE, other, 5, MPI_COMM_WORLD)
            : MPI_Recv(view.buf, n, MPI_DOUBLE, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  Py_END_ALLOW_THREADS PyBuffer_Release(&view);
  if (result) return failed(sends ? "MPI_Send" : "MPI_Recv");
  Py_RETURN_NONE;
}
static PyObject* py_send(PyObject* self, PyObject* arguments) { return transfer(arguments, 1); }
static PyObject* py_receive(PyObject* self, PyObject* arguments) { return transfer(arguments, 0); }

static PyObject* allreduce(PyObject* self, PyObject* object) {
  int n, result;
  Py_buffer view;
  if (doubles(object, &view, &n)) return NULL;
  ++calls;
  Py_BEGIN_ALLOW_THREADS result =
      MPI_Allreduce(MPI_IN_PLACE, view.buf, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  Py_END_ALLOW_THREADS PyBuffer_Release(&view);
  if (result) return failed("MPI_Allreduce");
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"rank", rank, METH_NOARGS, "rank in MPI_COMM_WORLD"},
    {"size", size, METH_NOARGS, "its size"},
    {"is_thread_main", is_thread_main, METH_NOARGS, "MPI_Is_thread_main"},
    {"count", count, METH_NOARGS, "transfers so far"},
    {"send", py_send, METH_VARARGS, "send(array, to)"},
    {"receive", py_receive, METH_VARARGS, "receive(array, from)"},
    {"allreduce", allreduce, METH_O, "sums, in place"},
    {NULL, NULL, 0, NULL}};
static void at_exit(void) {
  int flag;
  if (!MPI_Finalized(&flag) && !flag) MPI_Finalize();
}
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "exchange", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_exchange(void) {
  int flag, provided;
  if (!MPI_Initialized(&flag) && !flag) {
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    Py_AtExit(at_exit); /* when the interpreter ends */
  }
  return PyModule_Create(&definition);
}
