let count = 0;

/** An id as opencode makes them: milliseconds and a counter in 12 hexadecimal digits, then 14 letters. */
function partId() {
  const now = (BigInt(Date.now()) * 0x1000n + BigInt(++count % 0x1000)) & 0xffffffffffffn;
  const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const rest = Array.from({ length: 14 }, () => letters[Math.floor(Math.random() * letters.length)]);
  return `prt_${now.toString(16).padStart(12, "0")}${rest.join("")}`;
}

/** @param {any} input */
export const Recall = async ({ directory, worktree }) => {
  const cwd = String(directory ?? worktree ?? process.cwd());
  return {
    /** @param {any} input @param {any} output */
    "chat.message": async (input, output) => {
      /** @type {any[]} */
      const parts = output?.parts ?? [];
      const written = parts.filter((part) => typeof part?.text === "string" && part.type === "text" && !part.synthetic);
      const prompt = written.map((part) => part.text).join("\n");
      const text = await recall("opencode", String(input?.sessionID ?? ""), cwd, prompt);
      if (!text) return;
      const messageID = output.message?.id ?? input.messageID;
      parts.push({ id: partId(), messageID, sessionID: input.sessionID, type: "text", text, synthetic: true });
    },
    /** @param {any} input */
    event: async ({ event }) => {
      const session = String(event?.properties?.sessionID ?? "");
      if (event?.type === "session.compacted") await forget("opencode", session, cwd);
    },
  };
};
