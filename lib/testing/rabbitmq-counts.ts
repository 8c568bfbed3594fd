import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

export type MessageCounts = { ready: number; unacknowledged: number };

/** Answers each line, the name of a queue, with a line: its counts, `absent`, or why they could not be read. Ends with its input. */
const PROGRAM = `
  Node = list_to_atom(os:getenv("RABBITMQ_NODENAME")),
  Call = fun(Name, Arguments) -> rpc:call(Node, rabbit_amqqueue, Name, Arguments) end,
  Counts = fun(Queue) ->
    case Call(lookup, [{resource, <<"/">>, queue, Queue}]) of
      {ok, Found} ->
        case Call(info, [Found, [messages_ready, messages_unacknowledged]]) of
          [{_, Ready}, {_, Held}] -> io_lib:format("~p ~p", [Ready, Held]);
          Other -> io_lib:format("~0p", [Other])
        end;
      {error, not_found} -> "absent";
      Other -> io_lib:format("~0p", [Other])
    end
  end,
  Loop = fun Next() ->
    case io:get_line("") of
      eof -> halt();
      Line -> io:format("~s~n", [Counts(unicode:characters_to_binary(string:trim(Line)))]), Next()
    end
  end,
  Loop().`;

/** Arguments of `erl`. */
export function countingNode(name: string): string[] {
  const local = ["-kernel", "inet_dist_use_interface", "{127,0,0,1}"];
  return ["-noshell", "-hidden", "-sname", name, ...local, "-eval", PROGRAM];
}

type Counting = { of(queue: string): Promise<MessageCounts>; end(): void };

/**
 * Counts messages by a node of Erlang that stays: each call of `rabbitmqctl` starts one, which takes half a second of a core, and
 * tests ask again and again.
 */
export function countMessages(program: { command: string; args: string[] }, env: NodeJS.ProcessEnv): Counting {
  let node: ChildProcessByStdio<Writable, Readable, null> | null = null;
  let lines: AsyncIterator<string> | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  const ask = async (queue: string) => {
    if (node === null || node.exitCode !== null) {
      node = spawn(program.command, program.args, { env, stdio: ["pipe", "pipe", "ignore"] });
      lines = createInterface({ input: node.stdout })[Symbol.asyncIterator]();
      await once(node, "spawn");
    }
    node.stdin.write(`${queue}\n`);
    const { value = "the node of Erlang ended" }: { value?: string } = await lines!.next();
    if (value === "absent") return { ready: Number.NaN, unacknowledged: Number.NaN };
    const counts = /^(\d+) (\d+)$/.exec(value);
    if (counts === null) throw new Error(`the messages of ${queue} cannot be counted: ${value}`);
    return { ready: Number(counts[1]), unacknowledged: Number(counts[2]) };
  };
  return {
    of: (queue) => {
      const asked = turn.then(() => ask(queue));
      turn = asked.catch(() => undefined); // whoever asked is told
      return asked;
    },
    end: () => node?.kill("SIGKILL"),
  };
}
