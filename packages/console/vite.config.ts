/** The console as static files: hashed names, nothing from elsewhere, each file compressed beforehand. */
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  build: {
    target: "es2023",
    outDir: "dist",
    emptyOutDir: true,
    manifest: true, // what the first screen loads is counted by it
    assetsInlineLimit: 0, // a `data:` font or image would have to be allowed by the content policy
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_500,
    rolldownOptions: {
      onLog: (level, log, told) => (log.code === "MODULE_LEVEL_DIRECTIVE" ? undefined : told(level, log)), // `use client` is for servers: there is none here
    },
  },
});
