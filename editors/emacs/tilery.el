;; Emacs 29 or newer: put this into init.el.
(define-derived-mode tileir-mode prog-mode "Tile IR"
  (setq-local comment-start "// " comment-end ""))
(modify-syntax-entry ?/ ". 12" tileir-mode-syntax-table)
(modify-syntax-entry ?\n ">" tileir-mode-syntax-table)
(add-to-list 'auto-mode-alist '("\\.\\(tileir\\|cuda_tile\\.mlir\\)\\'" . tileir-mode))
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(tileir-mode "tilery" "lsp")))
(add-hook 'tileir-mode-hook 'eglot-ensure)
