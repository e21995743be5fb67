const MACHINES = ["heartbeat", "cron", "system"];

export default {
  id: "recall-git",
  name: "recall-git",
  description: "Recalls notes of the workspace's Git repository at each prompt.",
  /** @param {any} api */
  register(api) {
    /** @param {any} ctx */
    const sessionOf = (ctx) => String(ctx?.sessionKey ?? ctx?.sessionId ?? "");
    /** @param {any} ctx */
    const cwdOf = (ctx) => String(ctx?.workspaceDir ?? process.cwd());

    api.on("before_prompt_build", async (/** @type {any} */ event, /** @type {any} */ ctx) => {
      if ((ctx?.inputProvenance?.kind ?? "external_user") !== "external_user") return;
      if (MACHINES.includes(ctx?.trigger)) return;
      const text = await recall("openclaw", sessionOf(ctx), cwdOf(ctx), event?.currentUserMessage ?? event?.prompt);
      if (text) return { prependContext: text };
    });
    api.on("after_compaction", async (/** @type {any} */ _event, /** @type {any} */ ctx) => {
      await forget("openclaw", sessionOf(ctx), cwdOf(ctx));
    });
  },
};
