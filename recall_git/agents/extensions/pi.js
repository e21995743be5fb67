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
