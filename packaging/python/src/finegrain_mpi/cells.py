"""What runs cells in a rank: each cell in the same namespace, with its output in a file that
outlives the rank."""

import ast
import linecache
import os
import signal
import sys
import traceback


class Server:
    def __init__(self, channel, start):
        self.channel = channel
        self.namespace = {"__name__": "__main__", "__builtins__": __builtins__, "rank": channel.mpi.rank, "size": channel.mpi.size}
        self._in_cell = False
        signal.signal(signal.SIGINT, self._interrupt)
        main = type(sys)("__main__")
        main.__dict__.update(self.namespace)
        self.namespace = main.__dict__
        sys.modules["__main__"] = main  # what a cell defines can be pickled
        sys.argv = [""]

    def _interrupt(self, number, frame):
        if self._in_cell:
            self._in_cell = False
            raise KeyboardInterrupt

    def serve(self):
        for command in self.channel.commands():
            name = os.path.join(self.channel.folder, "output-%d-%d" % (command["number"], self.channel.mpi.rank))
            with open(name, "w", encoding="utf-8", errors="backslashreplace", buffering=1) as output:
                sys.stdout = sys.stderr = output
                try:
                    error = self._run(command)
                    output.flush()
                except BaseException as failure:  # such as an output whose disk is full
                    error = repr(failure)
                finally:
                    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
            self.channel.write({"error": error, "failed": bool(error)})
            self.channel.done()

    def _run(self, command):
        """Runs a cell; a last expression is printed unless it is None. Returns the traceback, or
        None."""
        name, text = command["name"], command["text"]
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        try:
            tree = ast.parse(text, name)
            last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) and not \
                text.rstrip().endswith(";") else None
            codes = [(compile(tree, name, "exec"), False)] + ([(compile(last, name, "eval"), True)] if last else [])
            self._in_cell = True
            if os.path.exists(os.path.join(self.channel.folder, "interrupt-%d" % command["number"])):
                raise KeyboardInterrupt  # it came before this rank had its turn
            for code, is_expression in codes:
                value = eval(code, self.namespace)
                if is_expression and value is not None:
                    self.namespace["_"] = value
                    print(repr(value))
        except SystemExit as end:
            return "SystemExit: %s (the rank stays)" % end if end.code not in (None, 0) else None
        except BaseException:
            self._in_cell = False
            return self._traceback()
        finally:
            self._in_cell = False
        return None

    def _traceback(self):
        try:
            error = traceback.TracebackException(*sys.exc_info())
            outer = error
            while outer is not None:
                names = [frame.filename.startswith("<cell ") for frame in outer.stack]
                kept = [frame for frame in outer.stack[names.index(True):] if frame.filename != __file__] if True in names else []
                outer.stack = traceback.StackSummary.from_list(kept)
                outer = outer.__cause__ or outer.__context__
            return "".join(error.format()).rstrip()
        except BaseException as failure:
            return "an exception that cannot be printed: %r" % type(failure)
