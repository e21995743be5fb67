// @ts-check
// Written by recall-git ('git recall uninstall' removes this file): puts notes of the repository before the agent.
// It asks recall-git's launcher, gives up after a short while, and never throws: no notes is the worst that happens.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const OUTPUT_MAX = 1 << 20;

/** Where the launcher is: the user's data folder, else PATH (on Windows always: there it is no shell script). */
function launcher() {
  if (process.platform === "win32") return "recall-git-hook";
  const named = process.env.XDG_DATA_HOME ?? "";
  const base = named.startsWith("/") ? named : join(homedir(), ".local", "share");
  const path = join(base, "recall-git", "recall-git-hook");
  return existsSync(path) ? path : "recall-git-hook";
}

/**
 * What the notes say to an event, "" for nothing.
 * @param {{agent: string, event: string, session: string, cwd: string, prompt?: string, first?: boolean}} event
 * @returns {Promise<string>}
 */
function ask(event) {
  const own = Number(process.env.RECALL_TIMEOUT_MS) || (event.first ? 1500 : 250);
  return new Promise((resolve) => {
    let out = "";
    let done = false;
    /** @param {string} text */
    const finish = (text) => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      child?.kill("SIGKILL");
      resolve(text);
    };
    const timer = setTimeout(() => finish(""), own + 500);
    /** @type {import("node:child_process").ChildProcess | undefined} */
    let child;
    try {
      child = spawn(launcher(), [], {
        cwd: event.cwd && existsSync(event.cwd) ? event.cwd : undefined,
        env: { ...process.env, RECALL_TIMEOUT_MS: String(own) },
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      });
      child.on("error", () => finish(""));
      child.stdin?.on("error", () => {});
      child.stdout?.setEncoding("utf8").on("data", (part) => {
        out += part;
        if (out.length > OUTPUT_MAX) finish("");
      });
      child.on("close", () => {
        try {
          const text = JSON.parse(out).text;
          finish(typeof text === "string" ? text : "");
        } catch {
          finish("");
        }
      });
      child.stdin?.end(JSON.stringify(event));
    } catch {
      finish("");
    }
  });
}

/** Sessions that have had their start: profile, prohibitions, latest lessons. */
const opened = new Set();

/**
 * The notes for a person's prompt, with the start in a session's first.
 * @param {string} agent @param {string} session @param {string} cwd @param {unknown} prompt
 */
async function recall(agent, session, cwd, prompt) {
  if (typeof prompt !== "string" || !prompt.trim()) return "";
  const first = !opened.has(session);
  const text = await ask({ agent, event: "prompt", session, cwd, prompt, first });
  if (text) opened.add(session);
  return text;
}

/**
 * The context was lost: everything may be given again.
 * @param {string} agent @param {string} session @param {string} cwd
 */
async function forget(agent, session, cwd) {
  opened.delete(session);
  await ask({ agent, event: "compact", session, cwd });
}

/** @param {any} pi */
export default function (pi) {
  /** @param {any} ctx */
  const sessionOf = (ctx) => String(ctx?.sessionManager?.getSessionFile?.() ?? "");
  /** @param {any} ctx */
  const cwdOf = (ctx) => String(ctx?.cwd ?? process.cwd());

  pi.on("session_start", async (/** @type {any} */ event, /** @type {any} */ ctx) => {
    // What an earlier run has given stands in the session's file.
    if (["resume", "fork", "reload"].includes(event?.reason)) opened.add(sessionOf(ctx));
  });
  pi.on("session_compact", async (/** @type {any} */ _event, /** @type {any} */ ctx) => {
    await forget("pi", sessionOf(ctx), cwdOf(ctx));
  });
  pi.on("before_agent_start", async (/** @type {any} */ event, /** @type {any} */ ctx) => {
    if ((event?.messageType ?? "user") !== "user") return;
    const text = await recall("pi", sessionOf(ctx), cwdOf(ctx), event?.prompt);
    if (text) return { message: { customType: "git-recall", content: text, display: false } };
  });
}
