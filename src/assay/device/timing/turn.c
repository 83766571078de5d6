/* Takes one turn: launches, each between its own pair of CUDA events.
 *
 * The launches and what happens between them are Python's. The events, the host's clock, the draws
 * and what they come to are not: no Python object holds them. The turn's document leaves the
 * process before Python runs again.
 *
 * Compiled where it runs, by any C compiler (turn.py). So it needs no header of CUDA or of Python:
 * what it calls of them is declared here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Of CPython's stable ABI, which the interpreter exports. */
typedef struct object object;
extern object *PyExc_RuntimeError, *PyExc_OSError;
extern object *PyErr_Format(object *kind, const char *format, ...);
extern object *PyErr_NoMemory(void);
extern object *PyErr_SetFromErrno(object *kind);
extern object *PyObject_CallFunction(object *function, const char *format, ...);
extern object *PyObject_CallNoArgs(object *function);
extern object *PyUnicode_FromStringAndSize(const char *text, ssize_t bytes);
extern void *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *thread);
extern void Py_DecRef(object *each);

/* Of the CUDA driver. */
#define CALLS(CALL)                                                              \
    CALL(cuCtxGetCurrent, (void **context))                                      \
    CALL(cuCtxRecordEvent, (void *context, void *event))                         \
    CALL(cuCtxResetPersistingL2Cache, (void))                                    \
    CALL(cuCtxSynchronize, (void))                                               \
    CALL(cuCtxWaitEvent, (void *context, void *event))                           \
    CALL(cuEventCreate, (void **event, unsigned flags))                          \
    CALL(cuEventDestroy_v2, (void *event))                                       \
    CALL(cuEventElapsedTime, (float *ms, void *start, void *stop))               \
    CALL(cuEventRecord, (void *event, void *stream))                             \
    CALL(cuGetErrorString, (int code, const char **text))                        \
    CALL(cuMemsetD8Async, (uint64_t place, unsigned char value, size_t bytes, void *stream))
#define DECLARE(name, arguments) static int (*name) arguments;
#define FIND(name, arguments)                                                    \
    name = (int (*) arguments)dlsym(library, #name);                             \
    if (name == NULL)                                                            \
        name = (int (*) arguments)absent;
#define ASK(name, ...) checked(#name, name(__VA_ARGS__))

CALLS(DECLARE)

enum { NOT_FOUND = 500 }; /* CUDA_ERROR_NOT_FOUND */

/* Stands for a function that this driver lacks; some are younger than others. */
static int absent(void) { return NOT_FOUND; }

/* turn.py has the same. */
struct turn {
    object *launch; /* enqueues one launch, returns its output */
    object *before; /* called with its number ahead of each */
    object *lead;   /* gives the GPU idle work, while the host gets ahead */
    object *stamp;  /* called with 0 ahead of the last launch, with 1 behind it */
    object *keep;   /* called with the place of a keep and the output that it wants */
    object *look;   /* called behind some launches, where others' work is watched */
    void *stream;
    uint64_t flush; /* memory that is written ahead of each launch */
    size_t flush_bytes;
    const int *numbers; /* by keep: of the launch that it wants; -1 for one that is drawn */
    int keeps, samples;
    int alone;   /* number of the launch before which the GPU is empty; -1 for none */
    int watched; /* whether what other streams do is timed, too */
    int fd;      /* what the document is written to; -1 for none */
};

static int written; /* documents so far */

/* Returns 0, or -1 with Python's error set. */
static int checked(const char *name, int code)
{
    const char *text = "no such error is known";
    if (code == 0)
        return 0;
    cuGetErrorString(code, &text);
    PyErr_Format(PyExc_RuntimeError, "CUDA's driver refuses %s: %s (error %d)", name, text, code);
    return -1;
}

/* Returns 0 for what a Python function gave, -1 where it raised. */
static int called(object *result)
{
    if (result == NULL)
        return -1;
    Py_DecRef(result);
    return 0;
}

/* Other Python threads run meanwhile: work of the GPU may wait for one. */
static int wait_for_gpu(void)
{
    void *thread = PyEval_SaveThread();
    int code = cuCtxSynchronize();
    PyEval_RestoreThread(thread);
    return checked("cuCtxSynchronize", code);
}

static int get_ahead(const struct turn *turn)
{
    return wait_for_gpu() || called(PyObject_CallNoArgs(turn->lead));
}

/* A number below a small one that follows from nothing that could be read. */
static int drawn(int below)
{
    uint64_t bits = 0;
    while (getrandom(&bits, sizeof bits, 0) != sizeof bits)
        ;
    return (int)(bits % (uint64_t)below);
}

/* Copies an output where it is wanted. In stream order, before the host waits: work that a launch
 * left on another stream is missing there. */
static int keep(const struct turn *turn, int number, object *output)
{
    for (int place = 0; place < turn->keeps; place++) {
        int wanted = turn->numbers[place];
        if (wanted < 0 ? drawn(number + 1) == 0 : wanted == number)
            if (called(PyObject_CallFunction(turn->keep, "iO", place, output)))
                return -1;
    }
    return 0;
}

static int launch(const struct turn *turn, int number, void *context, void **pair, object **last)
{
    void *start = pair[0], *stop = pair[1];
    int last_one = number == turn->samples - 1;
    if (number == turn->alone && get_ahead(turn)) /* no other work may run until it begins */
        return -1;
    if (called(PyObject_CallFunction(turn->before, "i", number)))
        return -1;
    /* It evicts L2 and hides the launch gap. */
    if (turn->flush_bytes
        && ASK(cuMemsetD8Async, turn->flush, 0, turn->flush_bytes, turn->stream))
        return -1;
    if (last_one && called(PyObject_CallFunction(turn->stamp, "i", 0)))
        return -1;
    if (ASK(cuEventRecord, start, turn->stream))
        return -1;
    if (number == turn->alone && ASK(cuCtxWaitEvent, context, start))
        return -1;
    object *output = PyObject_CallNoArgs(turn->launch);
    if (output == NULL)
        return -1;
    int refused = ASK(cuEventRecord, stop, turn->stream)
                  || (last_one && called(PyObject_CallFunction(turn->stamp, "i", 1)));
    if (*last != NULL)
        Py_DecRef(*last);
    *last = output;
    if (refused || keep(turn, number, output))
        return -1;
    if (turn->watched && drawn(turn->samples) == 0)
        return called(PyObject_CallNoArgs(turn->look)) || get_ahead(turn);
    return 0;
}

static long long nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Writes billionths with a point, whatever the locale is. */
static void put(FILE *text, const char *name, long long billionths)
{
    fprintf(text, "%s%lld.%09lld", name, billionths / 1000000000, billionths % 1000000000);
}

static int put_elapsed(FILE *text, const char *name, void *start, void *stop)
{
    float ms = 0;
    if (ASK(cuEventElapsedTime, &ms, start, stop))
        return -1;
    put(text, name, ms > 0 ? (long long)(ms * 1e9 + 0.5) : 0);
    return 0;
}

/* Launches all, waits, and writes the document into ``text``. */
static int take(const struct turn *turn, void **events, FILE *text)
{
    void *ended = events[2 * turn->samples];
    void *context = NULL, *all_ended = events[2 * turn->samples + 1];
    object *last = NULL;
    int failed = 0;
    cuCtxResetPersistingL2Cache(); /* refused where the device has no such lines */
    if (ASK(cuCtxGetCurrent, &context))
        return -1;
    long long began = nanoseconds();
    if (get_ahead(turn))
        return -1;
    long long first = nanoseconds();
    for (int number = 0; number < turn->samples && !failed; number++)
        failed = launch(turn, number, context, &events[2 * number], &last);
    long long host = nanoseconds() - first;
    if (last != NULL)
        Py_DecRef(last);
    if (failed)
        return -1;
    if (turn->watched
        && (ASK(cuCtxRecordEvent, context, all_ended) || ASK(cuEventRecord, ended, turn->stream)))
        return -1;
    if (wait_for_gpu())
        return -1;
    fprintf(text, "{\"number\": %d", turn->fd < 0 ? -1 : written++);
    put(text, ", \"started\": ", began);
    put(text, ", \"ended\": ", nanoseconds());
    put(text, ", \"host_ms\": ", host * 1000 / turn->samples);
    if (!turn->watched)
        put(text, ", \"after_ms\": ", 0);
    else if (put_elapsed(text, ", \"after_ms\": ", ended, all_ended))
        return -1;
    for (int number = 0; number < turn->samples; number++, events += 2)
        if (put_elapsed(text, number ? ", " : ", \"times_ms\": [", events[0], events[1]))
            return -1;
    fputs("]}\n", text);
    return 0;
}

static int write_all(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t count = write(fd, text, bytes);
        if (count < 0 && errno != EINTR) {
            PyErr_SetFromErrno(PyExc_OSError);
            return -1;
        }
        if (count > 0) {
            text += count;
            bytes -= (size_t)count;
        }
    }
    return 0;
}

/* Finds the driver's functions. Returns NULL, or why there is no driver. */
const char *assay_find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL)
        return dlerror();
    CALLS(FIND)
    return NULL;
}

/* Takes a turn of at least one launch; returns its document as a string, or NULL with Python's
 * error set. */
object *assay_turn(const struct turn *turn)
{
    size_t bytes = 0, count = 2 * (size_t)turn->samples + 2, made = 0;
    char *line = NULL;
    object *document = NULL;
    void **events = calloc(count, sizeof *events);
    FILE *text = open_memstream(&line, &bytes);
    if (events == NULL || text == NULL)
        PyErr_NoMemory();
    else {
        while (made < count && !ASK(cuEventCreate, &events[made], 0))
            made++;
        int failed = made < count || take(turn, events, text);
        fflush(text);
        if (!failed && (turn->fd < 0 || !write_all(turn->fd, line, bytes)))
            document = PyUnicode_FromStringAndSize(line, (ssize_t)bytes);
        while (made > 0)
            cuEventDestroy_v2(events[--made]);
    }
    if (text != NULL)
        fclose(text);
    free(line);
    free(events);
    return document;
}
