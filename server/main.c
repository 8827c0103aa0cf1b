/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "server/config.h"
#include "server/server.h"

int
main(int argc, char **argv)
{
    struct config *cfg = NULL;
    enum config_action action = CONFIG_EXIT;
    if (config_load(argc, argv, &cfg, &action) != ST_OK) {
        return EXIT_FAILURE;
    }
    if (action == CONFIG_EXIT) {
        return EXIT_SUCCESS;
    }
    return server_run(cfg) == ST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
